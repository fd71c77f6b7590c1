//! Range filters as section 16 states them: all groups' bits, read one at a time, and answers that compare every leaf and
//! every value.

use crate::oracle::{field, int};
use std::ops::Bound::{self, Excluded, Included, Unbounded};
use std::ops::RangeBounds;

/// Bits, the first of which is compared first.
type Bits = Vec<bool>;

/// The most bits of a bound that can be excluded; no others count.
const COUNTED: usize = 1152;

pub struct Ranges {
    prefix: Vec<u8>,
    code: Code,
    is_gaps: bool,
    /// The kept bits of each leaf, with steps.
    pub leaves: Vec<Bits>,
    /// The first and the last number for which each value stands, with gaps.
    pub values: Vec<[u64; 2]>,
    /// All keys, if no bit of them is cut off.
    keys: Option<Vec<Vec<u8>>>,
}

/// The bits of each byte value by the class of its place, if keys have it, and the class of what follows it.
struct Code(Vec<Vec<Option<Bits>>>, Vec<usize>);

/// Reads fields of a group one after the other.
struct Fields<'a>(&'a [u8], u64);

impl Fields<'_> {
    fn next(&mut self, width: u64) -> u64 {
        self.1 += width;
        field(self.0, self.1 - width, width)
    }

    fn bits(&mut self, num: usize) -> Bits {
        (0..num).map(|_| self.next(1) == 1).collect()
    }

    /// The zeros before the next one.
    fn zeros(&mut self) -> u64 {
        (0..).find(|_| self.1 >= 8 * self.0.len() as u64 || self.next(1) == 1).expect("the group ends")
    }
}

/// What precedes the leaves or values of a group, the first of which are `head`.
struct Group<'a> {
    fields: Fields<'a>,
    head: Vec<u64>,
    separator: Bits,
}

impl Ranges {
    /// Reads a block with keys, without its checksums.
    pub fn open(block: &[u8]) -> Self {
        let (params, payload) = (&block[40..52], &block[64..]);
        let [units, flags, mark_len, classes] = [0, 1, 2, 3].map(|at| usize::from(params[at]));
        let (is_gaps, num_groups) = (flags == 1, int(&params[8..12]) as usize);
        let (prefix, rest) = payload.split_at(int(&params[4..6]) as usize);
        let size = 2 * (usize::from(params[6]) + 1);
        let (code, rest) = rest.split_at(if classes == 0 { 0 } else { 384 + classes * size });
        let (marks, groups) = rest.split_at((num_groups - 1) * mark_len);
        let opened = groups.chunks(32 * units).enumerate().map(|(number, group)| {
            let mut fields = Fields(group, 0);
            let widths: &[u64] = if is_gaps { &[10, 7, 6, 4] } else { &[8, 10, 4, 4, 3, 1] };
            let head: Vec<u64> = widths.iter().map(|&width| fields.next(width)).collect();
            let more = if !is_gaps && head[5] == 1 { fields.next(10) as usize } else { 0 };
            let mut separator = Bits::new();
            if number > 0 {
                separator
                    .extend(marks[(number - 1) * mark_len..][..mark_len].iter().flat_map(|&b| digits(b.into(), 8)));
                separator.extend(fields.bits(more));
                separator.truncate(separator.iter().rposition(|&bit| bit).map_or(0, |last| last + 1));
            }
            Group { fields, head, separator }
        });
        let groups: Vec<Group<'_>> = opened.collect();
        let code = Code::new(code, size);
        let mut ranges = Self { prefix: prefix.to_vec(), code, is_gaps, leaves: vec![], values: vec![], keys: None };
        let separators: Vec<Bits> = groups.iter().map(|group| group.separator.clone()).collect();
        for (number, group) in groups.into_iter().enumerate() {
            match is_gaps {
                true => ranges.read_values(group, separators.get(number + 1)),
                false => ranges.read_leaves(group, separators.get(number + 1), usize::from(params[7])),
            }
        }
        let width = if is_gaps { usize::from(params[7]) } else { 0 };
        let byte = |number: u64, place: usize| (number >> (56 - 8 * place)) as u8;
        let key =
            |value: &[u64; 2]| prefix.iter().copied().chain((0..width).map(|place| byte(value[0], place))).collect();
        ranges.keys = (width > 0).then(|| ranges.values.iter().map(key).collect());
        ranges
    }

    /// Section 16.5.
    fn read_leaves(&mut self, Group { mut fields, head, separator }: Group<'_>, next: Option<&Bits>, least: usize) {
        let [n, centre, low_bits, extra, longer] = [0, 1, 2, 3, 4].map(|at| head[at] as i64);
        let low: Vec<u64> = (1..n).map(|_| fields.next(low_bits as u64)).collect();
        let mut lcp = vec![separator.len() as i64 - 1];
        for low in low {
            let z = (fields.zeros() << low_bits | low) as i64;
            lcp.push((if z % 2 == 0 { centre + z / 2 } else { centre - (z + 1) / 2 }).rem_euclid(1024));
        }
        lcp.push(next.map_or(0, Vec::len) as i64 - 1);
        let (mut end, mut string) = (8 * fields.0.len() as u64, separator);
        for i in 0..n as usize {
            let (common, following) = (lcp[i], lcp[i + 1]);
            let kept = (common.max(following) + 1).max(least as i64) + extra + i64::from(8 * (i as i64) < longer * n);
            if i > 0 {
                string.truncate(common as usize);
                string.push(true);
            }
            let is_left_out = common < following;
            end -= kept as u64 - string.len() as u64 - u64::from(is_left_out);
            let mut own = Fields(fields.0, end);
            while string.len() < kept as usize {
                let is_out = is_left_out && string.len() as i64 == following;
                string.push(!is_out && own.next(1) == 1);
            }
            self.leaves.push(string.clone());
        }
    }

    /// Section 16.6.
    fn read_values(&mut self, Group { mut fields, head, separator }: Group<'_>, next: Option<&Bits>) {
        let [n, kept, low_bits, num_jumps] = [0, 1, 2, 3].map(|at| head[at]);
        let [from_bits, len_bits, unit] = [(); 3].map(|()| if num_jumps > 0 { fields.next(6) } else { 0 });
        let jumps: Vec<[u64; 2]> =
            (0..num_jumps).map(|_| [fields.next(from_bits), fields.next(len_bits) << unit]).collect();
        let (shift, start) = (64 - kept.clamp(1, 64), u128::from(number(&separator)));
        let end = next.map_or(1 << 64, |next| u128::from(number(next)));
        let mut low = Fields(fields.0, (8 * fields.0.len() as u64).saturating_sub(n * low_bits));
        let mut high = 0;
        for _ in 0..n {
            high += fields.zeros();
            let stored = high << low_bits | low.next(low_bits);
            let jumped: u64 = jumps.iter().filter(|jump| jump[0] <= stored).map(|jump| jump[1]).sum();
            let from = ((start >> shift) + u128::from(stored + jumped)) << shift;
            let last = (from + (1 << shift)).min(end) - 1;
            self.values.push([from.max(start) as u64, last as u64]);
        }
    }

    pub fn may_contain_range(&self, lower: Bound<&[u8]>, upper: Bound<&[u8]>) -> bool {
        if !are_ordered(lower, upper) {
            return true;
        }
        if let Some(keys) = &self.keys {
            return keys.iter().any(|key| (lower, upper).contains(&key[..]));
        }
        let (mut least, mut most) = (vec![false; COUNTED], vec![true; COUNTED]);
        if let Included(bytes) | Excluded(bytes) = lower {
            match bytes.strip_prefix(&self.prefix[..]) {
                Some(rest) => least = self.code.string(rest, false, false),
                None if bytes > &self.prefix[..] => return false,
                None => {}
            }
        }
        if let Included(bytes) | Excluded(bytes) = upper {
            match bytes.strip_prefix(&self.prefix[..]) {
                Some(rest) => {
                    most = self.code.string(rest, true, false);
                    if matches!(upper, Excluded(_)) && self.code.is_excludable(rest) {
                        let Some(last) = most.iter().rposition(|&bit| bit) else { return false };
                        most[last] = false;
                        most[last + 1..].fill(true);
                    }
                }
                None if bytes < &self.prefix[..] => return false,
                None => {}
            }
        }
        self.overlaps(least, most)
    }

    pub fn may_contain_prefix(&self, prefix: &[u8]) -> bool {
        if let Some(keys) = &self.keys {
            return keys.iter().any(|key| key.starts_with(prefix));
        }
        match prefix.strip_prefix(&self.prefix[..]) {
            Some(rest) => self.overlaps(self.code.string(rest, false, false), self.code.string(rest, true, true)),
            None => self.prefix.starts_with(prefix) && self.may_contain_range(Unbounded, Unbounded),
        }
    }

    /// The share of all strings that pass as points.
    pub fn share(&self) -> f64 {
        let of_leaves: f64 = self.leaves.iter().map(|leaf| 0.5f64.powi(leaf.len() as i32)).sum();
        let of_values: f64 = self.values.iter().map(|[first, last]| (last - first) as f64 + 1.0).sum();
        of_leaves + of_values * 0.5f64.powi(64)
    }

    fn overlaps(&self, least: Bits, most: Bits) -> bool {
        let (from, to) = (number(&least), number(&most));
        let is_between = |leaf: &Bits| match leaf[..].cmp(&least[..leaf.len()]) {
            std::cmp::Ordering::Less => false,
            std::cmp::Ordering::Equal => true,
            // With zeros behind it.
            std::cmp::Ordering::Greater => leaf[..] <= most[..leaf.len()],
        };
        from <= to
            && match self.is_gaps {
                true => self.values.iter().any(|&[first, last]| first <= to && last >= from),
                false => self.leaves.iter().any(is_between),
            }
    }
}

impl Code {
    fn new(code: &[u8], size: usize) -> Self {
        let Some((columns, rest)) = code.split_at_checked(256) else {
            return Self(vec![(0..256).map(|byte| Some(digits(byte, 8))).collect()], vec![0; 256]);
        };
        let (classes, tables) = rest.split_at(128);
        let of = |table: &[u8], column: usize| {
            let entry = int(&table[2 * column..][..2]);
            (0..(entry >> 12).min(12)).map(|at| entry >> at & 1 == 1).collect()
        };
        let bits = |table| columns.iter().map(|&column| (column > 0).then(|| of(table, column.into()))).collect();
        let following = (0..256).map(|byte| field(classes, 4 * byte, 4) as usize).collect();
        Self(tables.chunks(size).map(bits).collect(), following)
    }

    /// The first bits of a bound.
    fn string(&self, bytes: &[u8], is_upper: bool, mut tail: bool) -> Bits {
        let (mut bits, mut class) = (Bits::new(), self.1[0]);
        for &byte in bytes {
            if bits.len() >= COUNTED {
                break;
            }
            let (byte, has_bits) = (usize::from(byte), |byte: &usize| self.0[class][*byte].is_some());
            if let Some(own) = &self.0[class][byte] {
                bits.extend(own);
                class = self.1[byte];
                continue;
            }
            let near = if is_upper { (0..byte).rfind(has_bits) } else { (byte + 1..256).find(has_bits) };
            tail = is_upper == near.is_some();
            bits.extend(near.iter().flat_map(|&near| self.0[class][near].iter().flatten()));
            break;
        }
        bits.resize(COUNTED, tail);
        bits
    }

    fn is_excludable(&self, bytes: &[u8]) -> bool {
        let classes = std::iter::once(self.1[0]).chain(bytes.iter().map(|&byte| self.1[usize::from(byte)]));
        let own: Option<Vec<&Bits>> =
            bytes.iter().zip(classes).map(|(&byte, class)| self.0[class][usize::from(byte)].as_ref()).collect();
        own.is_some_and(|own| {
            own.iter().map(|bits| bits.len()).sum::<usize>() <= COUNTED
                && own.last().is_none_or(|last| last.contains(&true))
        })
    }
}

/// Returns whether a scan of these bounds may find something: the first rule of section 16.
pub fn are_ordered(lower: Bound<&[u8]>, upper: Bound<&[u8]>) -> bool {
    match (lower, upper) {
        (Included(lower), Included(upper)) => lower <= upper,
        (Included(lower) | Excluded(lower), Included(upper) | Excluded(upper)) => lower < upper,
        _ => true,
    }
}

/// The digits of a number, the most significant first.
fn digits(number: u64, len: u32) -> Bits {
    (0..len).rev().map(|place| number >> place & 1 == 1).collect()
}

/// The first 64 bits, and zeros behind them.
fn number(string: &Bits) -> u64 {
    (0..64).fold(0, |number, i| number << 1 | u64::from(string.get(i) == Some(&true)))
}
