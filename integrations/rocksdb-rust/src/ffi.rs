//! The functions of `bridge.cc`, behind safe types. All unsafe code of this package is here.

use librocksdb_sys::{rocksdb_column_family_handle_t, rocksdb_options_t, rocksdb_t};
use rocksdb::{AsColumnFamilyRef, AsRawPtr, DB, Options};
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::marker::PhantomData;
use std::ptr::{self, NonNull};
use std::slice;

// The adapter is linked to the symbols of the C library.
use filterblock_capi as _;

#[repr(C)]
struct RawPolicy(c_void);
#[repr(C)]
struct RawRanges(c_void);
#[repr(C)]
struct RawScan(c_void);

#[repr(C)]
struct RawRow {
    key: *const u8,
    key_len: usize,
    value: *const u8,
    value_len: usize,
}

type Sink = unsafe extern "C" fn(context: *mut c_void, text: *const c_char, len: usize);

unsafe extern "C" {
    fn fbr_layout() -> bool;
    fn fbr_register();
    fn fbr_policy_new(
        of: *const rocksdb_options_t,
        texts: *const *const c_char,
        trusted: bool,
        distinct_keys: bool,
        form: *mut c_void,
        normal: unsafe extern "C" fn(*const c_void, *const u8, usize, Sink, *mut c_void),
        free_form: unsafe extern "C" fn(*mut c_void),
        sink: Sink,
        context: *mut c_void,
    ) -> *mut RawPolicy;
    fn fbr_policy_free(policy: *mut RawPolicy);
    fn fbr_policy_set(options: *mut rocksdb_options_t, policy: *const RawPolicy) -> bool;
    fn fbr_findings(options: *const rocksdb_options_t, policy: *const RawPolicy) -> u32;
    fn fbr_policy_of(db: *mut rocksdb_t, family: *mut rocksdb_column_family_handle_t) -> *mut RawPolicy;
    fn fbr_in_use(
        db: *mut rocksdb_t,
        family: *mut rocksdb_column_family_handle_t,
        policy: *const RawPolicy,
        findings: *mut u32,
        tables: *mut u64,
        without: *mut u64,
        sink: Sink,
        context: *mut c_void,
    ) -> bool;
    fn fbr_policy_counts(policy: *const RawPolicy, counts: *mut [u64; 6]);
    fn fbr_policy_verdict(
        policy: *const RawPolicy,
        options: *const rocksdb_options_t,
        sink: Sink,
        context: *mut c_void,
    ) -> c_int;
    fn fbr_ranges_new(policy: *const c_char, verify: bool, sink: Sink, context: *mut c_void) -> *mut RawRanges;
    fn fbr_ranges_free(ranges: *mut RawRanges);
    fn fbr_ranges_set(options: *mut rocksdb_options_t, ranges: *const RawRanges);
    fn fbr_range_findings(options: *const rocksdb_options_t, ranges: *const RawRanges) -> u32;
    fn fbr_ranges_in_use(
        db: *mut rocksdb_t,
        family: *mut rocksdb_column_family_handle_t,
        ranges: *const RawRanges,
    ) -> u32;
    fn fbr_ranges_counts(ranges: *const RawRanges, counts: *mut [u64; 6]);
    fn fbr_ranges_verdict(ranges: *const RawRanges, sink: Sink, context: *mut c_void) -> bool;
    fn fbr_scan_new(
        db: *mut rocksdb_t,
        family: *mut rocksdb_column_family_handle_t,
        ranges: *const RawRanges,
        lower: *const u8,
        lower_len: usize,
        upper: *const u8,
        upper_len: usize,
        reverse: bool,
    ) -> *mut RawScan;
    fn fbr_scan_next(scan: *mut RawScan, row: *mut RawRow, sink: Sink, context: *mut c_void) -> c_int;
    fn fbr_scan_free(scan: *mut RawScan);
}

/// A text that the bridge passes back, replaced at each call.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn context(&mut self) -> *mut c_void {
        ptr::from_mut(self).cast()
    }

    fn into_text(self) -> String {
        String::from_utf8_lossy(&self.0).into_owned()
    }
}

/// The [`Sink`] of a [`Message`].
unsafe extern "C" fn keep(context: *mut c_void, text: *const c_char, len: usize) {
    // SAFETY: `context` is `Message::context` of a message that outlives the call of the bridge.
    let message = unsafe { &mut *context.cast::<Message>() };
    // SAFETY: the bridge passes the `len` bytes of a string of C++, whose data is never null.
    let text = unsafe { slice::from_raw_parts(text.cast::<u8>(), len) };
    message.0 = text.to_vec();
}

/// Writes the normal form of a key to an empty vector.
pub(crate) type Form = Box<dyn Fn(&[u8], &mut Vec<u8>) + Send + Sync>;

/// Passes a normal form on. A panic ends the process, as none can go through RocksDB.
unsafe extern "C" fn normal(form: *const c_void, key: *const u8, len: usize, sink: Sink, context: *mut c_void) {
    // SAFETY: it is the form of `Policy::new`, which the bridge keeps for as long as it calls it.
    let form = unsafe { &*form.cast::<Form>() };
    // SAFETY: the bridge passes the `len` bytes of a key, whose data is never null.
    let key = unsafe { slice::from_raw_parts(key, len) };
    let mut normal = Vec::new();
    form(key, &mut normal);
    // SAFETY: `sink` and `context` belong together, and copy the bytes.
    unsafe { sink(context, normal.as_ptr().cast(), normal.len()) }
}

unsafe extern "C" fn free_form(form: *mut c_void) {
    // SAFETY: it is the form of `Policy::new`, which the bridge does not use again.
    drop(unsafe { Box::from_raw(form.cast::<Form>()) });
}

/// Whether the headers that the bridge was compiled with describe the RocksDB that is linked.
pub(crate) fn layout_is_rocksdbs() -> bool {
    // SAFETY: no argument. It reads options that it creates itself.
    unsafe { fbr_layout() }
}

pub(crate) fn register() {
    // SAFETY: no argument; RocksDB's registry is locked inside.
    unsafe { fbr_register() }
}

fn raw_options(options: &Options) -> *mut rocksdb_options_t {
    // SAFETY: the pointer is used while `options` is borrowed by the caller.
    unsafe { options.as_raw_ptr() }
}

fn raw_db(db: &DB) -> *mut rocksdb_t {
    // SAFETY: the pointer is used while `db` is borrowed by the caller, or by the `RawRows` that has its lifetime.
    unsafe { db.as_raw_ptr() }
}

/// A column family, the default one without a name.
pub(crate) struct Family(*mut rocksdb_column_family_handle_t);

impl Family {
    pub(crate) fn default_one() -> Self {
        Self(ptr::null_mut())
    }

    pub(crate) fn of(family: &impl AsColumnFamilyRef) -> Self {
        Self(family.inner())
    }
}

/// A policy of the adapter, which options and databases share.
#[derive(Debug)]
pub(crate) struct Policy(NonNull<RawPolicy>);

// SAFETY: a policy of RocksDB is used by all threads of its databases; the adapter's changes only atomic counters, and what
// it guards by a mutex.
unsafe impl Send for Policy {}
// SAFETY: as for `Send`; every function of the bridge takes the policy as const.
unsafe impl Sync for Policy {}

impl Policy {
    /// For the comparator of `of`. The texts are two policies and the name of the form.
    pub(crate) fn new(
        of: &Options,
        texts: &[CString; 3],
        trusted: bool,
        distinct_keys: bool,
        form: Option<Form>,
    ) -> Result<Self, String> {
        let mut message = Message::default();
        let form = form.map_or(ptr::null_mut(), |form| Box::into_raw(Box::new(form)));
        // SAFETY: the texts end with 0 and outlive the call, and so does `message`; the bridge owns the form, and may call
        // it in any thread.
        let raw = unsafe {
            fbr_policy_new(
                raw_options(of),
                texts.each_ref().map(|text| text.as_ptr()).as_ptr(),
                trusted,
                distinct_keys,
                form.cast(),
                normal,
                free_form,
                keep,
                message.context(),
            )
        };
        NonNull::new(raw).map(Self).ok_or_else(|| message.into_text())
    }

    pub(crate) fn of(db: &DB, family: &Family) -> Option<Self> {
        // SAFETY: `db` is open, and `family` one of its column families or null.
        NonNull::new(unsafe { fbr_policy_of(raw_db(db), family.0) }).map(Self)
    }

    pub(crate) fn set(&self, options: &mut Options) -> bool {
        // SAFETY: `options` is borrowed exclusively, and its layout was compared (`layout_is_rocksdbs`).
        unsafe { fbr_policy_set(raw_options(options), self.0.as_ptr()) }
    }

    pub(crate) fn findings(&self, options: &Options) -> u32 {
        // SAFETY: the options are read while they are borrowed.
        unsafe { fbr_findings(raw_options(options), self.0.as_ptr()) }
    }

    /// The findings, the id of the policy that is in use, and the numbers of tables and of those without a filter.
    pub(crate) fn in_use(&self, db: &DB, family: &Family) -> (u32, Option<String>, Option<(u64, u64)>) {
        let mut message = Message::default();
        let (mut findings, mut tables, mut without) = (0, 0, 0);
        // SAFETY: `db` is open, `family` one of its column families or null; the variables outlive the call.
        let counted = unsafe {
            fbr_in_use(
                raw_db(db),
                family.0,
                self.0.as_ptr(),
                &raw mut findings,
                &raw mut tables,
                &raw mut without,
                keep,
                message.context(),
            )
        };
        let id = message.into_text();
        (findings, Some(id).filter(|id| !id.is_empty()), counted.then_some((tables, without)))
    }

    pub(crate) fn counts(&self) -> [u64; 6] {
        let mut counts = [0; 6];
        // SAFETY: six numbers are written.
        unsafe { fbr_policy_counts(self.0.as_ptr(), &raw mut counts) };
        counts
    }

    /// The verdict, and whether nothing was found; `None` without statistics.
    pub(crate) fn verdict(&self, options: &Options) -> Option<(String, bool)> {
        let mut message = Message::default();
        // SAFETY: the options are read while they are borrowed; `message` outlives the call.
        let fine = unsafe { fbr_policy_verdict(self.0.as_ptr(), raw_options(options), keep, message.context()) };
        (fine >= 0).then(|| (message.into_text(), fine == 1))
    }
}

impl Drop for Policy {
    fn drop(&mut self) {
        // SAFETY: the pointer is owned, and not used again.
        unsafe { fbr_policy_free(self.0.as_ptr()) }
    }
}

/// Range filters of the adapter, which options and databases share.
#[derive(Debug)]
pub(crate) struct Ranges(NonNull<RawRanges>);

// SAFETY: a collector factory of RocksDB is used by all threads of its databases; the adapter's has atomic counters.
unsafe impl Send for Ranges {}
// SAFETY: as for `Send`; every function of the bridge takes the factory as const.
unsafe impl Sync for Ranges {}

impl Ranges {
    pub(crate) fn new(policy: &CStr, verify: bool) -> Result<Self, String> {
        let mut message = Message::default();
        // SAFETY: the text ends with 0 and outlives the call, and so does `message`.
        let raw = unsafe { fbr_ranges_new(policy.as_ptr(), verify, keep, message.context()) };
        NonNull::new(raw).map(Self).ok_or_else(|| message.into_text())
    }

    pub(crate) fn set(&self, options: &mut Options) {
        // SAFETY: `options` is borrowed exclusively, and its layout was compared (`layout_is_rocksdbs`).
        unsafe { fbr_ranges_set(raw_options(options), self.0.as_ptr()) }
    }

    pub(crate) fn findings(&self, options: &Options) -> u32 {
        // SAFETY: the options are read while they are borrowed.
        unsafe { fbr_range_findings(raw_options(options), self.0.as_ptr()) }
    }

    pub(crate) fn in_use(&self, db: &DB, family: &Family) -> u32 {
        // SAFETY: `db` is open, and `family` one of its column families or null.
        unsafe { fbr_ranges_in_use(raw_db(db), family.0, self.0.as_ptr()) }
    }

    pub(crate) fn counts(&self) -> [u64; 6] {
        let mut counts = [0; 6];
        // SAFETY: six numbers are written.
        unsafe { fbr_ranges_counts(self.0.as_ptr(), &raw mut counts) };
        counts
    }

    pub(crate) fn verdict(&self) -> (String, bool) {
        let mut message = Message::default();
        // SAFETY: `message` outlives the call.
        let fine = unsafe { fbr_ranges_verdict(self.0.as_ptr(), keep, message.context()) };
        (message.into_text(), fine)
    }

    /// Empty bounds are none.
    pub(crate) fn rows<'a>(
        &self,
        db: &'a DB,
        family: &Family,
        [lower, upper]: [Option<&[u8]>; 2],
        reverse: bool,
    ) -> RawRows<'a> {
        let bytes = |bound: Option<&[u8]>| bound.map_or((ptr::null(), 0), |bound| (bound.as_ptr(), bound.len()));
        let ((lower, lower_len), (upper, upper_len)) = (bytes(lower), bytes(upper));
        // SAFETY: `db` is open, `family` one of its column families or null. The bridge copies the bounds, and shares
        // the filters.
        let raw =
            unsafe { fbr_scan_new(raw_db(db), family.0, self.0.as_ptr(), lower, lower_len, upper, upper_len, reverse) };
        // SAFETY: never null: the bridge ends the process where memory is lacking.
        RawRows { scan: unsafe { NonNull::new_unchecked(raw) }, db: PhantomData }
    }
}

impl Drop for Ranges {
    fn drop(&mut self) {
        // SAFETY: the pointer is owned, and not used again.
        unsafe { fbr_ranges_free(self.0.as_ptr()) }
    }
}

/// The rows of a scan, which keeps its database open.
#[derive(Debug)]
pub(crate) struct RawRows<'a> {
    scan: NonNull<RawScan>,
    db: PhantomData<&'a DB>,
}

// SAFETY: an iterator of RocksDB may be used by one thread after another, and every use takes `&mut self`.
unsafe impl Send for RawRows<'_> {}

impl RawRows<'_> {
    pub(crate) fn next(&mut self) -> Result<Option<crate::Row>, String> {
        let mut message = Message::default();
        let mut row = RawRow { key: ptr::null(), key_len: 0, value: ptr::null(), value_len: 0 };
        // SAFETY: the scan is not freed yet; `row` and `message` outlive the call.
        match unsafe { fbr_scan_next(self.scan.as_ptr(), &raw mut row, keep, message.context()) } {
            // SAFETY: with 1 the bridge has set key and value, which are valid until the next call.
            1 => Ok(Some(unsafe { (bytes(row.key, row.key_len), bytes(row.value, row.value_len)) })),
            0 => Ok(None),
            _ => Err(message.into_text()),
        }
    }
}

/// # Safety
/// `len` bytes can be read at `data`, which may be null if there are none.
unsafe fn bytes(data: *const u8, len: usize) -> Box<[u8]> {
    if len == 0 {
        return Box::default();
    }
    // SAFETY: the caller's promise; not null, as `len` is not 0.
    unsafe { slice::from_raw_parts(data, len) }.into()
}

impl Drop for RawRows<'_> {
    fn drop(&mut self) {
        // SAFETY: the pointer is owned, and not used again; the database is still open.
        unsafe { fbr_scan_free(self.scan.as_ptr()) }
    }
}
