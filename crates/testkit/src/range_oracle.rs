//! Range filters as section 16 states them: all leaves' bits, read one at a time, and answers that compare every leaf.

use crate::oracle::{bit, field, int};
use std::ops::Bound::{self, Excluded, Included, Unbounded};

/// Bits, the first of which is compared first.
type Bits = Vec<bool>;

pub struct Ranges {
    prefix: Vec<u8>,
    /// The bits of each byte value; none for one that no key has.
    code: Vec<Bits>,
    pub depth: usize,
    pub leaves: Vec<Bits>,
}

/// What is needed to read leaves.
struct Groups<'a> {
    payload: &'a [u8],
    /// The number of entries of each level.
    levels: Vec<usize>,
    has_joined: bool,
    extra: usize,
    least: usize,
    longer: usize,
    depth: usize,
    leaves: Vec<Bits>,
}

/// Reads fields one after the other.
struct Fields<'a>(&'a [u8], u64);

impl Fields<'_> {
    fn next(&mut self, width: u64) -> usize {
        self.1 += width;
        field(self.0, self.1 - width, width) as usize
    }

    fn bits(&mut self, num: usize) -> Bits {
        self.1 += num as u64;
        (self.1 - num as u64..self.1).map(|at| bit(self.0, at) == 1).collect()
    }

    /// The least number of a column and the width of its fields.
    fn head(&mut self) -> (usize, u64) {
        let least = self.next(10);
        (least, self.next(6) as u64)
    }

    fn column(&mut self, (least, width): (usize, u64), num: usize) -> Vec<usize> {
        (0..num).map(|_| least + self.next(width)).collect()
    }
}

impl Ranges {
    /// Reads a block with keys, without its checksums.
    pub fn open(block: &[u8]) -> Self {
        let (params, payload) = (&block[40..52], &block[64..]);
        let two = |at: usize| int(&params[at..at + 2]) as usize;
        let (has_table, end_len, prefix_len) = (params[1] & 1 == 1, usize::from(params[1] >> 4), two(6));
        let mut fields = Fields(payload, prefix_len as u64 * 8);
        let code = match has_table {
            true => coded((0..256).map(|_| fields.next(4)).collect(), end_len),
            false => (0..256).map(|byte| digits(byte, 8)).collect(),
        };
        let first_len = fields.next(16);
        let first = fields.bits(first_len);
        let mut levels = vec![int(&params[8..12]) as usize];
        while levels[levels.len() - 1] > 64 {
            levels.push(levels[levels.len() - 1].div_ceil(64));
        }
        let mut groups = Groups {
            payload,
            has_joined: params[1] & 2 == 2,
            extra: params[0].into(),
            least: two(2) & 1023,
            longer: two(2) >> 10,
            depth: two(4),
            leaves: Vec::new(),
            levels,
        };
        groups.read(groups.levels.len() - 1, 0, fields.1.div_ceil(8), first);
        Self { prefix: payload[..prefix_len].to_vec(), code, depth: groups.depth, leaves: groups.leaves }
    }

    pub fn may_contain_range(&self, lower: Bound<&[u8]>, upper: Bound<&[u8]>) -> bool {
        if !are_ordered(lower, upper) {
            return true;
        }
        let (mut least, mut most) = (vec![false; self.len()], vec![true; self.len()]);
        if let Included(bytes) | Excluded(bytes) = lower {
            match bytes.strip_prefix(&self.prefix[..]) {
                Some(rest) => least = self.string(rest, false, false),
                None if bytes > &self.prefix[..] => return false,
                None => {}
            }
        }
        if let Included(bytes) | Excluded(bytes) = upper {
            match bytes.strip_prefix(&self.prefix[..]) {
                Some(rest) => {
                    most = self.string(rest, true, false);
                    if matches!(upper, Excluded(_)) && self.is_excludable(rest) {
                        let Some(last) = most.iter().rposition(|&bit| bit) else { return false };
                        most[last] = false;
                        most[last + 1..].fill(true);
                    }
                }
                None if bytes < &self.prefix[..] => return false,
                None => {}
            }
        }
        self.overlaps(&least, &most)
    }

    pub fn may_contain_prefix(&self, prefix: &[u8]) -> bool {
        match prefix.strip_prefix(&self.prefix[..]) {
            Some(rest) => self.overlaps(&self.string(rest, false, false), &self.string(rest, true, true)),
            None => self.prefix.starts_with(prefix) && self.may_contain_range(Unbounded, Unbounded),
        }
    }

    /// The share of all strings that pass as points.
    pub fn share(&self) -> f64 {
        self.leaves.iter().map(|leaf| 0.5f64.powi(leaf.len() as i32)).sum()
    }

    fn overlaps(&self, least: &Bits, most: &Bits) -> bool {
        let is_between = |leaf: &Bits| match leaf[..].cmp(&least[..leaf.len()]) {
            std::cmp::Ordering::Less => false,
            std::cmp::Ordering::Equal => true,
            // With zeros behind it.
            std::cmp::Ordering::Greater => leaf[..] <= most[..leaf.len()],
        };
        least <= most && self.leaves.iter().any(is_between)
    }

    /// The number of bits of a bound: the last byte that counts may go beyond the depth.
    fn len(&self) -> usize {
        self.depth + 12
    }

    /// The first bits of a bound.
    fn string(&self, bytes: &[u8], is_upper: bool, mut tail: bool) -> Bits {
        let mut bits = Bits::new();
        for &byte in bytes {
            if bits.len() >= self.depth {
                break;
            }
            let has_bits = |byte: &usize| !self.code[*byte].is_empty();
            let byte = usize::from(byte);
            if has_bits(&byte) {
                bits.extend(&self.code[byte]);
                continue;
            }
            let near = if is_upper { (0..byte).rfind(has_bits) } else { (byte + 1..256).find(has_bits) };
            tail = is_upper == near.is_some();
            bits.extend(near.iter().flat_map(|&near| &self.code[near]));
            break;
        }
        bits.resize(self.len(), tail);
        bits
    }

    fn is_excludable(&self, bytes: &[u8]) -> bool {
        let code = |byte: u8| &self.code[usize::from(byte)];
        bytes.iter().all(|&byte| !code(byte).is_empty())
            && bytes.iter().map(|&byte| code(byte).len()).sum::<usize>() <= self.depth
            && bytes.last().is_none_or(|&last| code(last).contains(&true))
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

impl Groups<'_> {
    /// Reads all leaves below group `number` of `level`, whose first string is `string`.
    fn read(&mut self, level: usize, number: usize, place: u64, mut string: Bits) {
        let num = (self.levels[level] - 64 * number).min(64);
        let mut fields = Fields(self.payload, place * 8);
        if level == 0 {
            return self.read_leaves(num, fields, string);
        }
        let (child, place_width) = (fields.next(40) as u64, fields.next(8) as u64);
        let (commons, lens) = (fields.head(), fields.head());
        let marks: Vec<usize> = (1..num).map(|_| fields.next(16)).collect();
        let children: Vec<u64> = (1..num).map(|_| child + fields.next(place_width) as u64).collect();
        let least = commons.0;
        let (commons, lens) = (fields.column(commons, num - 1), fields.column(lens, num - 1));
        self.read(level - 1, number * 64, child, string.clone());
        for entry in 1..num {
            string.truncate(commons[entry - 1]);
            string.push(true);
            string.extend(fields.bits(lens[entry - 1]));
            let mark = (0..16).fold(0, |mark, i| mark << 1 | usize::from(string.get(least + i) == Some(&true)));
            assert_eq!(marks[entry - 1], mark, "the mark of entry {entry} of group {number} of level {level}");
            self.read(level - 1, number * 64 + entry, children[entry - 1], string.clone());
        }
    }

    fn read_leaves(&mut self, num: usize, mut fields: Fields<'_>, mut string: Bits) {
        let head = fields.head();
        let nexts = fields.column(head, num);
        let joined = if self.has_joined { fields.bits(num) } else { vec![false; num] };
        self.leaves.push(string.clone());
        for (leaf, &is_joined) in joined.iter().enumerate().skip(1) {
            let (common, next) = (nexts[leaf - 1], nexts[leaf]);
            let telling = common.max(next) + 1;
            let kept = match is_joined {
                true => telling.max(self.least),
                false => (telling + self.extra).max(self.least + usize::from(leaf < self.longer)).min(self.depth),
            };
            string.truncate(common);
            string.push(true);
            if common < next && next < kept {
                string.extend(fields.bits(next - common - 1));
                string.push(false);
            }
            let rest = kept - string.len();
            string.extend(fields.bits(rest));
            self.leaves.push(string.clone());
        }
    }
}

/// The digits of a number, the most significant first.
fn digits(number: usize, len: usize) -> Bits {
    (0..len).rev().map(|place| number >> place & 1 == 1).collect()
}

/// The bits of all bytes by their lengths.
fn coded(lens: Vec<usize>, end_len: usize) -> Vec<Bits> {
    let mut taken = if end_len == 0 { 0 } else { 1 << (12 - end_len) };
    let mut next = |len: usize| {
        if len == 0 {
            return Bits::new();
        }
        taken += 1 << (12 - len);
        digits((taken - (1 << (12 - len))) >> (12 - len), len)
    };
    lens.into_iter().map(&mut next).collect()
}
