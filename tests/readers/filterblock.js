'use strict';

// A reader of the filterblock format, version 1. "Section n" is a section of format-spec.md, whose names are used here.
//
// As a module it exports openBlock, openCompact and openIndex, which return a Filter, a Filter and an Index, or else a
// Refusal: the class and the row of the first check that failed. They do not throw, whatever the bytes.
// As a command it answers the requests of the conformance kit (tests/conformance), one JSON object in each line.
//
// Numbers of 64 bits are BigInts: hashes, seeds, contexts, and stored counts before they are checked. Lengths and
// positions in bytes that exist are Numbers.

// ---- Arithmetic (section 1)

const u64 = (x) => BigInt.asUintN(64, x);
const mul64 = (x, y) => BigInt.asUintN(64, x * y);
const rotl64 = (x, n) => BigInt.asUintN(64, (x << n) | (x >> (64n - n)));
const range = (x, n) => (x * n) >> 64n;
const foldProduct = (x, y) => ((x * y) >> 64n) ^ mul64(x, y);
const divideUp = (x, y) => (x + y - 1n) / y;
const u32 = (x) => BigInt.asUintN(32, x);
const lo32 = (x) => Number(u32(x));
const mul32 = (x, y) => Math.imul(x, y) >>> 0;
const range32 = (x, n) => Math.floor((x * n) / 2 ** 32); // exact for n up to 2^21
const read64 = (bytes, at) => bytes.readBigUInt64LE(at);
const within = (x, least, most) => x >= least && x <= most;
const isZero = (bytes) => bytes.every((byte) => byte === 0);

const GOLDEN = 0x9e3779b97f4a7c15n;

function mixWith(z, multiplier1, multiplier2) {
  z = mul64(z ^ (z >> 33n), multiplier1);
  z = mul64(z ^ (z >> 33n), multiplier2);
  return z ^ (z >> 33n);
}

// `mix` and its inverse (section 4.2).
const mix = (z) => mixWith(z, 0xff51afd7ed558ccdn, 0xc4ceb9fe1a85ec53n);
const unmix = (z) => mixWith(z, 0x9cb4b2f8129337dbn, 0x4f74430c22a54005n);

// The field of `width` bits at bit `bit`, as a BigInt. All its bits must be within `bytes`.
function bitField(bytes, bit, width) {
  const first = Math.floor(bit / 8);
  let value = 0n;
  for (let i = Math.ceil((bit + width) / 8) - 1; i >= first; i--) value = (value << 8n) | BigInt(bytes[i]);
  return BigInt.asUintN(width, value >> BigInt(bit % 8));
}

const bitAt = (bytes, bit) => (bytes[Math.floor(bit / 8)] >> (bit % 8)) & 1;

// Whether the bits from `bit` to the end, which are few, are 0.
const isZeroFrom = (bytes, bit) => bitField(bytes, bit, 8 * bytes.length - bit) === 0n;

// The number of ones in a 64-bit number, modulo 2.
function parity(x) {
  let v = lo32(x ^ (x >> 32n));
  for (const shift of [16, 8, 4, 2, 1]) v ^= v >>> shift;
  return v & 1;
}

// ---- Hash id 1: XXH3-64 (section 3.1, and doc/xxhash_spec.md of xxHash)

const [PRIME32_1, PRIME32_2, PRIME32_3] = [0x9e3779b1n, 0x85ebca77n, 0xc2b2ae3dn];
const [PRIME64_1, PRIME64_2, PRIME64_3] = [0x9e3779b185ebca87n, 0xc2b2ae3d27d4eb4fn, 0x165667b19e3779f9n];
const [PRIME64_4, PRIME64_5] = [0x85ebca77c2b2ae63n, 0x27d4eb2f165667c5n];
const [PRIME_MX1, PRIME_MX2] = [0x165667919e3779f9n, 0x9fb21c651e98df25n];

const SECRET = Buffer.from(
  'b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671fcb79e64eccc0e578825ad07dccff7221' +
  'b8084674f743248ee03590e6813a264c3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8' +
  'a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364eac5ac8334d3ebc3c581a0fffa1363eb' +
  '170ddd51b7f0da49d316552629d4689e2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e', 'hex');

const secretPair = (at) => read64(SECRET, at) ^ read64(SECRET, at + 8);

function avalanche(x) {
  x = mul64(x ^ (x >> 37n), PRIME_MX1);
  return x ^ (x >> 32n);
}

function avalancheXxh64(x) {
  x = mul64(x ^ (x >> 33n), PRIME64_2);
  x = mul64(x ^ (x >> 29n), PRIME64_3);
  return x ^ (x >> 32n);
}

function swapBytes(x) {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(x);
  return read64(bytes, 0);
}

function xxh3Upto8(input, seed) {
  const n = input.length;
  if (n === 0) return avalancheXxh64(seed ^ secretPair(56));
  if (n <= 3) {
    const combined = Buffer.of(input[n - 1], n, input[0], input[n >> 1]).readUInt32LE(0);
    return avalancheXxh64(u64(u32(read64(SECRET, 0) ^ read64(SECRET, 4)) + seed) ^ BigInt(combined));
  }
  const words = BigInt(input.readUInt32LE(n - 4)) | (BigInt(input.readUInt32LE(0)) << 32n);
  let x = words ^ u64(secretPair(8) - (seed ^ swapBytes(u32(seed))));
  x = mul64(x ^ rotl64(x, 49n) ^ rotl64(x, 24n), PRIME_MX2);
  x = mul64(x ^ ((x >> 35n) + BigInt(n)), PRIME_MX2);
  return x ^ (x >> 28n);
}

function xxh3Upto16(input, seed) {
  const low = read64(input, 0) ^ u64(secretPair(24) + seed);
  const high = read64(input, input.length - 8) ^ u64(secretPair(40) - seed);
  return avalanche(u64(BigInt(input.length) + swapBytes(low) + high + foldProduct(low, high)));
}

function mixStep(input, at, secretAt, seed) {
  const low = read64(input, at) ^ u64(read64(SECRET, secretAt) + seed);
  return foldProduct(low, read64(input, at + 8) ^ u64(read64(SECRET, secretAt + 8) - seed));
}

function xxh3Upto128(input, seed) {
  const n = input.length;
  let sum = BigInt(n) * PRIME64_1;
  for (let i = 0; i < n / 32; i++) {
    sum += mixStep(input, 16 * i, 32 * i, seed) + mixStep(input, n - 16 * i - 16, 32 * i + 16, seed);
  }
  return avalanche(u64(sum));
}

function xxh3Upto240(input, seed) {
  const n = input.length;
  let sum = BigInt(n) * PRIME64_1;
  for (let i = 0; i < 8; i++) sum += mixStep(input, 16 * i, 16 * i, seed);
  sum = avalanche(u64(sum));
  for (let i = 8; i < n >> 4; i++) sum += mixStep(input, 16 * i, 16 * i - 125, seed);
  return avalanche(u64(sum + mixStep(input, n - 16, 119, seed)));
}

// Adds a stripe of 64 bytes to the sums, a BigUint64Array, which reduces what it is assigned modulo 2^64.
function accumulate(sums, input, at, secret, secretAt) {
  for (let i = 0; i < 8; i++) {
    const value = read64(input, at + 8 * i);
    const key = value ^ read64(secret, secretAt + 8 * i);
    sums[i ^ 1] += value;
    sums[i] += u32(key) * (key >> 32n);
  }
}

function scramble(sums, secret) {
  for (let i = 0; i < 8; i++) sums[i] = (sums[i] ^ (sums[i] >> 47n) ^ read64(secret, 128 + 8 * i)) * PRIME32_1;
}

function xxh3Long(input, seed) {
  const n = input.length;
  const secret = Buffer.alloc(192);
  for (let at = 0; at < 192; at += 8) {
    secret.writeBigUInt64LE(u64(read64(SECRET, at) + (at % 16 === 0 ? seed : -seed)), at);
  }
  const sums = BigUint64Array.of(
    PRIME32_3, PRIME64_1, PRIME64_2, PRIME64_3, PRIME64_4, PRIME32_2, PRIME64_5, PRIME32_1);
  for (let i = 0; 64 * (i + 1) < n; i++) {
    accumulate(sums, input, 64 * i, secret, 8 * (i % 16));
    if (i % 16 === 15) scramble(sums, secret);
  }
  accumulate(sums, input, n - 64, secret, 121);
  let sum = BigInt(n) * PRIME64_1;
  for (let i = 0; i < 8; i += 2) {
    sum += foldProduct(sums[i] ^ read64(secret, 11 + 8 * i), sums[i + 1] ^ read64(secret, 19 + 8 * i));
  }
  return avalanche(u64(sum));
}

function xxh3(input, seed) {
  const most = [8, 16, 128, 240, Infinity].findIndex((length) => input.length <= length);
  return [xxh3Upto8, xxh3Upto16, xxh3Upto128, xxh3Upto240, xxh3Long][most](input, seed);
}

// ---- Hash id 2: SipHash-1-3 (section 3.2)

// A round on v, a BigUint64Array of four.
function sipRound(v) {
  v[0] += v[1]; v[1] = rotl64(v[1], 13n) ^ v[0]; v[0] = rotl64(v[0], 32n);
  v[2] += v[3]; v[3] = rotl64(v[3], 16n) ^ v[2];
  v[0] += v[3]; v[3] = rotl64(v[3], 21n) ^ v[0];
  v[2] += v[1]; v[1] = rotl64(v[1], 17n) ^ v[2]; v[2] = rotl64(v[2], 32n);
}

function sipHash(input, key) {
  const [k0, k1] = [read64(key, 0), read64(key, 8)];
  const v = BigUint64Array.of(k0 ^ 0x736f6d6570736575n, k1 ^ 0x646f72616e646f6dn,
    k0 ^ 0x6c7967656e657261n, k1 ^ 0x7465646279746573n);
  const wordsEnd = input.length - (input.length % 8);
  const last = Buffer.alloc(8);
  input.copy(last, 0, wordsEnd);
  last[7] = input.length % 256;
  for (let at = 0; at <= wordsEnd; at += 8) {
    const m = at < wordsEnd ? read64(input, at) : read64(last, 0);
    v[3] ^= m;
    sipRound(v);
    v[0] ^= m;
  }
  v[2] ^= 0xffn;
  for (let i = 0; i < 3; i++) sipRound(v);
  return v[0] ^ v[1] ^ v[2] ^ v[3];
}

// A hash function: its id, the `seed` of headers that state it, and the function itself.
const seededHash = (seed) => ({ id: 1, seed, of: (entry) => xxh3(entry, seed) });
const keyedHash = (key) => (
  { id: 2, seed: sipHash(Buffer.from('filterblock key id'), key), of: (entry) => sipHash(entry, key) });

// ---- Refusals and checksums (sections 4.2 and 11)

class Refusal extends Error {
  constructor(failureClass, row, foundContext) {
    super(`${failureClass}: ${row}`);
    Object.assign(this, { class: failureClass, row, foundContext });
  }
}

function check(holds, failureClass, row) {
  if (!holds) throw new Refusal(failureClass, row);
}

// Makes, of a function that throws refusals, one that returns them.
const opener = (read) => (bytes, options = {}) => {
  try {
    return read(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), options);
  } catch (error) {
    if (error instanceof Refusal) return error;
    throw error;
  }
};

const CRC_TABLE = Uint32Array.from({ length: 256 }, (_, crc) => {
  for (let i = 0; i < 8; i++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  return crc;
});

function maskedCrc(bytes) {
  let crc = 0xffffffff;
  for (const byte of bytes) crc = (crc >>> 8) ^ CRC_TABLE[(crc ^ byte) & 0xff];
  crc = ~crc;
  return (((crc >>> 15) | (crc << 17)) + 0xa282ead8) >>> 0;
}

// ---- Queries and transforms (sections 4.3 and 15.1)

// A query is { form, a, b }, where `form` is key, prefix, row, cell, entry, at or hash, and `a` and `b` are its
// arguments: the hash, or byte strings.

const prefixOf = (bytes, length) => (bytes.length < length ? null : bytes.subarray(0, length));

// Up to the last of the first `param >> 8` delimiters.
function upToDelimiter(bytes, param) {
  let end = 0;
  for (let at = 0, left = param >> 8; at < bytes.length && left > 0; at++) {
    if (bytes[at] !== (param & 255)) continue;
    end = at + 1;
    left--;
  }
  return end === 0 ? null : bytes.subarray(0, end);
}

function cellEntry(row, column) {
  const length = Buffer.alloc(4);
  length.writeUInt32LE(row.length % 2 ** 32);
  return Buffer.concat([row, column, length]);
}

// The entry that a query is about, or null if it has none.
function entryOf({ id, param }, { form, a, b }) {
  if (![a, b ?? a].every(Buffer.isBuffer)) throw new TypeError('a key is a Buffer');
  switch (`${id} ${form}`) {
    case '0 key': case '1 row': case '1 cell': case '4 key': return a;
    case '2 cell': return cellEntry(a, b);
    case '3 key': case '3 prefix': case '4 prefix': return prefixOf(a, param);
    case '5 key': case '5 prefix': return upToDelimiter(a, param);
    default: return null;
  }
}

const escapeRow = (row) => Buffer.from([...row].flatMap((byte) => (byte === 0 ? [0, 1] : [byte])));

// The order key of a query with this entry. A prefix that is queried is its own order key.
function orderKeyOf({ id }, { a, b }, entry) {
  return id === 2 ? Buffer.concat([escapeRow(a), Buffer.alloc(2), b]) : entry;
}

// ---- Kinds (sections 5 to 9)

// A kind has its `name`, the ranges of `params` that are reserved, and whether it can be remapped. `fromParams` and
// `fromTrailer` read its parameters from a header and from a compact frame. `open` makes the checks of the rows `range`
// and `unused`, under the names that `rows` has for them, and returns the function that answers for a hash.

const bloom = {
  name: 'bloom', reserved: [[1, 4]], remappable: false,
  fromParams: (params) => ({ numProbes: params[0], numBits: read64(params, 4) }),
  fromTrailer: (trailer) => ({ numProbes: trailer.byte(), numBits: BigInt(8 * trailer.left) }),

  open({ numProbes, numBits }, payload, rows) {
    check(within(numProbes, 1, 64) && within(numBits, 1n, 2n ** 56n), 'damaged', rows.range);
    check(divideUp(numBits, 8n) === BigInt(payload.length), 'damaged', rows.range);
    check(isZeroFrom(payload, Number(numBits)), 'damaged', rows.unused);
    return (h) => {
      for (let i = 0, x = h; i < numProbes; i++, x = mul64(x, 0xf1357aea2e62a9c5n)) {
        if (!bitAt(payload, Number(range(x, numBits)))) return false;
      }
      return true;
    };
  },
};

const MULTIPLIERS = [0x9e3779b1, 0x85ebca77, 0xc2b2ae3d, 0x27d4eb2f, 0x165667b1, 0xd3a2646d, 0xfd7046c5, 0xb55a4f09];

const blocked = {
  name: 'blocked', reserved: [[2, 12]], remappable: false,
  fromParams: (params) => ({ numProbes: params[0], saltBits: params[1] }),

  fromTrailer(trailer) {
    const byte = trailer.byte();
    return { numProbes: (byte >> 4) + 1, saltBits: byte & 15 };
  },

  open({ numProbes, saltBits }, payload, rows) {
    const numLines = payload.length / 64;
    check(within(numProbes, 1, 16) && saltBits <= 6, 'damaged', rows.range);
    check(Number.isInteger(numLines) && within(numLines, 1, 2 ** 32), 'damaged', rows.range);
    return (h) => lineHas(payload.subarray(64 * Number(range(h, BigInt(numLines)))), h, numProbes, saltBits);
  },
};

// `line` begins with the line of the hash.
function lineHas(line, h, numProbes, saltBits) {
  const x1 = lo32(h);
  const x2 = Number(mul64(h, 0xd1342543de82ef95n) >> 32n);
  const first = mul32(x1, 0x8cb92ba7) >>> 29;
  const n1 = Math.min(numProbes, 8);
  const n2 = numProbes - n1;
  for (let w = 0; w < 8; w++) {
    const salt = line[8 * w + 7] >> (8 - saltBits); // at most 6 bits, all of them in the last byte of the word
    const mult = MULTIPLIERS[w] + Math.imul(salt, 0xd1b54a32); // mul32 takes it modulo 2^32
    const isSet = (x) => bitAt(line, 64 * w + range32(mul32(x, mult), 64 - saltBits));
    const place = (w - first + 8) % 8;
    if ((place < n1 && !isSet(x1)) || (place < n2 && !isSet(x2))) return false;
  }
  return true;
}

const golomb = {
  name: 'golomb', reserved: [[3, 4]], remappable: true,
  fromParams(params, numEntries) {
    const perBucket = BigInt(params[2]);
    const B = perBucket === 0n ? 0n : divideUp(numEntries, perBucket); // 0 is refused, as `entries_per_bucket` 0 is
    return { r: params[0], d: params[1], B, W: read64(params, 4) };
  },

  fromTrailer(trailer) {
    const sizes = trailer.byte();
    if (within(sizes, 1, 15)) {
      const multiple = trailer.byte();
      check(multiple !== 0, 'damaged', 'integers');
      return { r: sizes, d: 0, B: 1n, W: BigInt(multiple) << BigInt(sizes - 1) };
    }
    const [d, r] = [trailer.byte(), trailer.byte()];
    const [rangeBytes, bucketsBytes] = [trailer.take(sizes & 15), trailer.take(sizes >> 4)];
    return { r, d, B: integer(bucketsBytes, 1, 8), W: integer(rangeBytes, 1, 8) };
  },

  open({ r, d, B, W }, payload, rows) {
    check(r <= 48 && d <= 57 && B >= 1n && W >= 1n && B * W < 2n ** 64n, 'damaged', rows.range);
    const anchorsLen = 8n * (divideUp(B, 64n) - 1n);
    const directoryLen = B === 1n ? 0n : divideUp(B * BigInt(d), 8n);
    check(anchorsLen + directoryLen < BigInt(payload.length), 'damaged', rows.range);
    // B is now at most 8 times the length of the payload, plus 64: the product B * d is exact as a Number.
    const anchors = payload.subarray(0, Number(anchorsLen));
    const directory = payload.subarray(anchors.length, anchors.length + Number(directoryLen));
    const codes = payload.subarray(anchors.length + directory.length);
    if (B > 1n) check(isZeroFrom(directory, Number(B) * d), 'damaged', rows.unused);
    const C = BigInt(8 * codes.length);
    const g = { r, d, B, W, anchors, directory, codes, C, slope: u64((256n * C) / B) };
    return (h) => golombHas(g, h);
  },
};

function golombStart({ B, C, d, anchors, directory, slope }, b) {
  if (BigInt(b) === B) return C;
  if (B === 1n) return 0n;
  const anchor = b < 64 ? 0n : read64(anchors, 8 * (Math.floor(b / 64) - 1));
  const bias = d === 0 ? 0n : 1n << BigInt(d - 1);
  return u64(anchor + (mul64(slope, BigInt(b % 64)) >> 8n) + bitField(directory, b * d, d) - bias);
}

function golombHas(g, h) {
  const bucket = Number((h * g.B) >> 64n);
  const value = range(mul64(h, g.B), g.W);
  const start = golombStart(g, bucket);
  const end = golombStart(g, bucket + 1);
  if (start > end || end > g.C || end - start > BigInt(512 * (g.r + 2))) return true;
  return bucketHas(g.codes, g.r, Number(start), Number(end), value);
}

function bucketHas(codes, r, start, end, wanted) {
  let [unary, remainders, next] = [start, end, 0n];
  while (remainders >= unary + r + 1) {
    remainders -= r;
    let one = unary;
    while (one < remainders && !bitAt(codes, one)) one++;
    if (one === remainders) return false;
    const value = u64(next + (BigInt(one - unary) << BigInt(r)) + bitField(codes, remainders, r));
    if (value === wanted) return true;
    next = u64(value + 1n);
    unary = one + 1;
  }
  return false;
}

const LIMITS = [128, 116, 96, 0];

const ribbon = {
  name: 'ribbon', reserved: [[8, 12]], remappable: true,
  fromParams: (params) => ({
    c: params[0], numLayers: params[1], lastSeed: params[2], thinnedFrom: params[3],
    wideShare: BigInt(params.readUInt32LE(4)),
  }),

  fromTrailer(trailer) {
    const sizes = trailer.byte();
    const [c, lastSeed] = [trailer.byte(), trailer.byte()];
    const isThinned = (sizes & 15) === 15;
    const stored = trailer.take(isThinned ? 1 : sizes & 15);
    const [thinnedFrom, wideShare] = isThinned ? [Number(integer(stored, 1, 1)), 0n] : [0, integer(stored, 0, 8)];
    return { c, numLayers: sizes >> 4, lastSeed, thinnedFrom, wideShare };
  },

  open({ c, numLayers, lastSeed, thinnedFrom, wideShare }, payload, rows) {
    check(within(c, 1, 32) && within(numLayers, 1, 8) && lastSeed <= 31, 'damaged', rows.range);
    check(thinnedFrom === 0 || within(thinnedFrom, c + 1, 32), 'damaged', rows.range);
    check(wideShare === 0n || (wideShare < 2n ** 32n && c <= 31 && thinnedFrom === 0), 'damaged', rows.range);
    const layers = ribbonLayers(payload, c, numLayers, wideShare, rows);
    for (const { thresholds, numBuckets } of layers.slice(0, -1)) {
      check(isZeroFrom(thresholds, 2 * numBuckets), 'damaged', rows.unused);
    }
    return (h) => ribbonHas(ribbonEquation(layers, lastSeed, h), c);
  },
};

// The layers, after a check that they make up the payload. Sums of lengths are below 2^44.
function ribbonLayers(payload, c, numLayers, wideShare, rows) {
  check(payload.length >= 4 * numLayers, 'damaged', rows.range);
  const directory = payload.length - 4 * numLayers;
  const layers = [];
  let end = 0;
  for (let i = 0; i < numLayers; i++) {
    const numBlocks = payload.readUInt32LE(directory + 4 * i);
    check(numBlocks >= 2, 'damaged', rows.range);
    const numWide = Number(divideUp(BigInt(numBlocks - 1) * wideShare, 2n ** 32n));
    const numStored = numWide === 0 ? 0 : numWide + 1;
    const start = end;
    end += 8 * (numBlocks * c + numStored);
    const solution = payload.subarray(start, end);
    const [numStarts, numBuckets] = [64 * (numBlocks - 1), Math.ceil((numBlocks - 1) / 2)];
    layers.push({ numWide, numStored, solution, numStarts, numBuckets });
  }
  for (const layer of layers.slice(0, -1)) {
    const start = end;
    end += Math.ceil(layer.numBuckets / 4);
    layer.thresholds = payload.subarray(start, end);
  }
  check(end === directory, 'damaged', rows.range);
  return layers;
}

// The layer to which a hash belongs, its x there, and the first slot of its equation.
function ribbonEquation(layers, lastSeed, h) {
  for (let i = 0, x = h; ; i++) {
    const layer = layers[i];
    const isLast = i === layers.length - 1;
    const steps = (i > 0 ? 1 : 0) + (isLast ? lastSeed : 0);
    if (steps > 0) x = mix(x ^ mul64(BigInt(steps), GOLDEN));
    const start = Number(range(x, BigInt(layer.numStarts)));
    if (isLast || 127 - (start % 128) < thresholdLimit(layer, Math.floor(start / 128))) return { layer, x, start };
  }
}

const thresholdLimit = ({ thresholds }, bucket) => LIMITS[Number(bitField(thresholds, 2 * bucket, 2))];

function ribbonHas({ layer, x, start }, c) {
  const coefficients = foldProduct(x, 0xd1342543de82ef95n) | 1n;
  const fingerprint = Number(mul64(x, 0xa24baed4963ee407n) >> 32n);
  const b = Math.floor(start / 64);
  const s = BigInt(start % 64);
  const firstWord = (block) => block * c + Math.min(block, layer.numStored);
  const word = (block, k) => read64(layer.solution, 8 * (firstWord(block) + k));
  const checked = b < layer.numWide ? c + 1 : c;
  for (let k = 0; k < checked; k++) {
    const w = (word(b, k) & (coefficients << s)) ^ (word(b + 1, k) & (coefficients >> (64n - s)));
    if (parity(w) !== ((fingerprint >>> k) & 1)) return false;
  }
  return true;
}

const fuse = {
  name: 'fuse', reserved: [[3, 4], [8, 12]], remappable: true,
  fromParams: (params) => (
    { f: params[0], log2SegmentLen: params[1], seed: params[2], numSegments: BigInt(params.readUInt32LE(4)) }),

  fromTrailer(trailer) {
    const sizes = trailer.byte();
    const [f, seed] = [trailer.byte(), trailer.byte()];
    return { f, log2SegmentLen: sizes >> 3, seed, numSegments: integer(trailer.take(sizes & 7), 1, 7) };
  },

  open({ f, log2SegmentLen, seed, numSegments }, payload, rows) {
    check(within(f, 1, 32) && log2SegmentLen <= 18 && seed <= 63, 'damaged', rows.range);
    check(within(numSegments, 1n, 2n ** 32n - 1n), 'damaged', rows.range);
    const segmentLen = 1n << BigInt(log2SegmentLen);
    const numSlots = (numSegments + 3n) * segmentLen;
    check(((numSlots - 1n) * BigInt(f)) / 8n + 8n === BigInt(payload.length), 'damaged', rows.range);
    check(isZeroFrom(payload, Number(numSlots) * f), 'damaged', rows.unused);
    const seedStep = mul64(BigInt(seed), GOLDEN);
    return (h) => fuseHas({ f, numSegments, segmentLen, payload }, seed === 0 ? h : mix(h ^ seedStep));
  },
};

function fuseHas({ f, numSegments, segmentLen, payload }, x) {
  const offsets = foldProduct(x, 0xd1342543de82ef95n);
  const start = range(x, numSegments * segmentLen);
  let sum = mul64(x, 0xa24baed4963ee407n) >> 32n;
  for (let k = 0n; k < 4n; k++) {
    const offset = k === 0n ? 0n : (offsets >> (18n * (k - 1n))) & (segmentLen - 1n);
    sum ^= bitField(payload, Number((start + k * segmentLen) ^ offset) * f, f);
  }
  return BigInt.asUintN(f, sum) === 0n;
}

const RANGE = 6; // range filters, which are none of keys
const KINDS = [undefined, bloom, blocked, golomb, ribbon, fuse];

// Opens a kind's payload, followed by `set_seed` if the filter is remapped (section 4.5).
function openPayload(kind, remapped, parameters, payload, rows) {
  if (!remapped) return kind.open(parameters, payload, rows);
  check(payload.length >= 8, 'damaged', rows.range);
  const setSeed = read64(payload, payload.length - 8);
  check(setSeed >= 1n, 'damaged', rows.range);
  const mayContain = kind.open(parameters, payload.subarray(0, -8), rows);
  return (h) => mayContain(mix(h ^ setSeed));
}

// ---- Blocks (sections 4 and 11)

// An opened block or compact frame. A compact frame does not state `numEntries`, nor `kindName` without entries.
class Filter {
  constructor(fields) {
    Object.assign(this, fields);
  }

  // True is maybe, false is no; undefined for the form `at`, which is for indexes only.
  query(query) {
    if (query.form === 'at') return undefined;
    if (query.form === 'hash') return this.mayContainHash(query.a);
    const entry = query.form === 'entry' ? query.a : entryOf(this.transform, query);
    return entry === null || this.mayContainHash(this.hash.of(entry));
  }
}

const BLOCK_MAGIC = Buffer.from('f146424c4b0d0a1a', 'hex');
const INDEX_MAGIC = Buffer.from('f246424c490d0a1a', 'hex');

// The rows `length` to `version`.
function checkEnvelope(bytes, magic, context) {
  check(bytes.length >= 64, 'damaged', 'length');
  check(magic.equals(bytes.subarray(0, 8)), 'damaged', 'magic');
  const difference = (bytes.readUInt32LE(60) ^ maskedCrc(bytes.subarray(0, 60))) >>> 0;
  if (difference !== lo32(mix(context))) throw crcRefusal(bytes, difference);
  check(bytes[8] !== 0, 'damaged', 'version');
  check(bytes[8] === 1, 'newer', 'version');
}

// A failed `crc` is a wrong context if both checksums agree on it (section 4.2).
function crcRefusal(bytes, difference) {
  const mixed = read64(bytes, 52) ^ xxh3(bytes.subarray(64), 0n);
  return lo32(mixed) === difference ? new Refusal('mismatch', 'crc', unmix(mixed)) : new Refusal('damaged', 'crc');
}

// The fields at offsets that blocks and indexes have in common.
const readHeader = (bytes) => ({
  hashId: bytes[10],
  transform: { id: bytes[11], param: bytes.readUInt16LE(14) },
  features: bytes.readUInt16LE(12),
  seed: read64(bytes, 16),
  numEntries: read64(bytes, 24),
  payloadLen: read64(bytes, 32),
  digest: read64(bytes, 52),
});

// The rows `hash_id` to `transform`.
function checkKnown({ hashId, features, transform }, rejectedFeatures) {
  check(within(hashId, 1, 2), 'newer', 'hash_id');
  check((features & rejectedFeatures) === 0, 'newer', 'features');
  check(!within(transform.id, 6, 127) && (transform.id > 2 || transform.param === 0), 'newer', 'transform');
}

// The rows `payload_len` and `digest`.
function checkPayload(header, payload, context) {
  check(header.payloadLen === BigInt(payload.length), 'damaged', 'payload_len');
  check(header.digest === (xxh3(payload, 0n) ^ mix(context)), 'damaged', 'digest');
}

// The rows `expected` and `key`. Returns the hash function of the entries.
function checkExpected({ hashId, seed, transform }, { hash, transform: expected }) {
  check(!hash || (hash.id === hashId && hash.seed === seed), 'mismatch', 'expected');
  check(!expected || (expected.id === transform.id && expected.param === transform.param), 'mismatch', 'expected');
  check(hash || hashId === 1, 'mismatch', 'key');
  return hash || seededHash(seed);
}

// Opens a block. Options: `context`, 0n if absent; `hash`, made by seededHash or keyedHash, and `transform`, which is
// { id, param }. If one of these two is present, the block is expected to have it.
const openBlock = opener(readBlock);

function readBlock(bytes, { context = 0n, ...expected }) {
  checkEnvelope(bytes, BLOCK_MAGIC, context);
  const header = readHeader(bytes);
  const kind = KINDS[bytes[9]];
  const payload = bytes.subarray(64);
  check(bytes[9] !== RANGE, 'mismatch', 'kind');
  check(kind, 'newer', 'kind');
  checkKnown(header, 0xfe00);
  checkPayload(header, payload, context);
  const hash = checkExpected(header, expected);
  const mayContainHash = readStructure(kind, header, bytes.subarray(40, 52), payload);
  return new Filter({ ...header, kindName: kind.name, hash, mayContainHash });
}

// The rows from `estimate` on.
function readStructure(kind, { features, numEntries }, params, payload) {
  const remapped = (features & 0x100) !== 0;
  check((features & 1) === 0 || (kind === bloom && numEntries !== 0n), 'damaged', 'estimate');
  check(!remapped || (kind.remappable && numEntries !== 0n), 'damaged', 'remapped');
  if (numEntries === 0n) {
    check(payload.length === 0, 'damaged', 'empty-len');
    check(isZero(params), 'newer', 'empty-params');
    return () => false;
  }
  check(kind.reserved.every(([from, end]) => isZero(params.subarray(from, end))), 'newer', 'reserved');
  const rows = { range: 'range', unused: 'unused' };
  return openPayload(kind, remapped, kind.fromParams(params, numEntries), payload, rows);
}

// ---- Compact frames (section 10)

// The end of a frame, which is read backwards.
class Trailer {
  constructor(frame) {
    this.frame = frame;
    this.left = frame.length;
  }

  take(count) {
    check(count <= this.left, 'damaged', 'trailer');
    this.left -= count;
    return this.frame.subarray(this.left, this.left + count);
  }

  byte() {
    return this.take(1)[0];
  }
}

// An integer of a trailer, in `least` to `most` bytes, of which the last is not 0.
function integer(bytes, least, most) {
  check(within(bytes.length, least, most) && bytes.at(-1) !== 0, 'damaged', 'integers');
  return bitField(bytes, 0, 8 * bytes.length);
}

// Opens a compact frame, of entries of the hash function and the transform that are given as for openBlock.
const openCompact = opener(readCompact);

function readCompact(frame, { hash, transform }) {
  check(frame.length > 0, 'damaged', 'tag');
  const trailer = new Trailer(frame);
  const tag = trailer.byte();
  const version = tag >> 4;
  check(within(version, 1, 14), 'damaged', 'version');
  check(version === 1, 'newer', 'version');
  if (tag === 0x10) {
    check(trailer.left === 0, 'damaged', 'empty');
    return new Filter({ hash, transform, mayContainHash: () => false });
  }
  const kind = KINDS[tag & 7];
  const remapped = (tag & 8) !== 0;
  check(kind && (kind.remappable || !remapped), 'newer', 'kind');
  const parameters = kind.fromTrailer(trailer);
  const rows = { range: 'payload', unused: 'payload' };
  const mayContainHash = openPayload(kind, remapped, parameters, frame.subarray(0, trailer.left), rows);
  return new Filter({ kindName: kind.name, hash, transform, mayContainHash });
}

// ---- Partitioned filters (section 15)

class Index {
  constructor(fields) {
    Object.assign(this, fields);
  }

  // Where partition i is stored.
  place(i) {
    return { offset: read64(this.records, 16 * i), len: this.records.readUInt32LE(16 * i + 8) };
  }

  separatorEnd(i) {
    return i < 0 ? 0 : this.records.readUInt32LE(16 * i + 12);
  }

  separator(i) {
    return this.separators.subarray(this.separatorEnd(i - 1), this.separatorEnd(i));
  }

  // The rows `record` and `order`.
  checkRecords() {
    let placeEnd = 0n;
    for (let i = 0; i < this.numPartitions; i++) {
      const { offset, len } = this.place(i);
      check(offset >= placeEnd && len >= 64, 'damaged', 'record');
      placeEnd = offset + BigInt(len);
      check(placeEnd < 2n ** 64n && this.separatorEnd(i) >= this.separatorEnd(i - 1), 'damaged', 'record');
    }
    check(this.separatorEnd(this.numPartitions - 1) === this.separators.length, 'damaged', 'record');
    for (let i = 1; i < this.numPartitions; i++) {
      check(Buffer.compare(this.separator(i - 1), this.separator(i)) < 0, 'damaged', 'order');
    }
  }

  // The first partition whose separator is at least the order key, or numPartitions.
  find(orderKey) {
    let [low, high] = [0, this.numPartitions];
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      if (Buffer.compare(this.separator(middle), orderKey) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  // Opens the block of partition i: a Filter or a Refusal.
  openPartition(i, bytes) {
    const context = u64(mix(this.context ^ GOLDEN) + BigInt(i));
    return openBlock(bytes, { context, hash: this.hash, transform: this.transform });
  }

  // The entry and the order key of a query; the entry is null if there is none. Undefined for the forms `hash` and
  // `entry`, and for `at` unless the transform is the engine's own.
  lookup(query) {
    if (query.form === 'hash' || query.form === 'entry') return undefined;
    if (query.form === 'at') return this.transform.id < 128 ? undefined : { orderKey: query.a, entry: query.b };
    const entry = entryOf(this.transform, query);
    return { entry, orderKey: entry && orderKeyOf(this.transform, query, entry) };
  }

  // As Filter.query; `partition(i)` is what openPartition returns.
  query(query, partition) {
    const found = this.lookup(query);
    if (!found) return undefined;
    if (found.entry === null) return true;
    const i = this.find(found.orderKey);
    if (i === this.numPartitions) return false;
    const filter = partition(i);
    return filter instanceof Refusal || filter.query({ form: 'entry', a: found.entry });
  }
}

// Opens an index, with the options of openBlock. The context is the table's.
const openIndex = opener(readIndex);

function readIndex(bytes, { context = 0n, ...expected }) {
  checkEnvelope(bytes, INDEX_MAGIC, context);
  const header = readHeader(bytes);
  const payload = bytes.subarray(64);
  check(bytes[9] !== RANGE, 'mismatch', 'kind');
  check(bytes[9] === 0, 'newer', 'kind');
  checkKnown(header, 0xff00);
  check(isZero(bytes.subarray(44, 52)), 'newer', 'reserved');
  checkPayload(header, payload, context);
  const hash = checkExpected(header, expected);
  const numPartitions = bytes.readUInt32LE(40);
  const recordsLen = 16 * numPartitions;
  check(recordsLen <= payload.length, 'damaged', 'records');
  check(header.numEntries >= BigInt(numPartitions), 'damaged', 'entries');
  check(numPartitions > 0 || header.numEntries === 0n, 'damaged', 'entries');
  const [records, separators] = [payload.subarray(0, recordsLen), payload.subarray(recordsLen)];
  const index = new Index({ ...header, hash, context, numPartitions, records, separators });
  index.checkRecords();
  return index;
}

module.exports = { openBlock, openCompact, openIndex, seededHash, keyedHash, Filter, Index, Refusal };

// ---- The conformance kit (tests/conformance/README.md)

function hexBytes(text) {
  const bytes = Buffer.from(text, 'hex');
  if (2 * bytes.length !== text.length) throw new Error('not hexadecimal digits');
  return bytes;
}

// The entry of the query `long`.
function longEntry(length) {
  const bytes = Buffer.alloc(length);
  for (let i = 0, x = GOLDEN; i < length; i++, x = u64(x + GOLDEN)) bytes[i] = Number(x >> 56n);
  return bytes;
}

function parseQuery(text) {
  const [form, ...rest] = text.split(':');
  if (form === 'hash') return { form, a: BigInt(rest[0]) };
  if (form === 'long') return { form: 'entry', a: longEntry(Number(rest[0])) };
  const [a, b] = rest.map(hexBytes);
  return { form, a, b };
}

function optionsOf({ context = 0, seed, key, transform }) {
  const options = { context: BigInt(context) };
  if (seed !== undefined) options.hash = seededHash(BigInt(seed));
  if (key !== undefined) options.hash = keyedHash(hexBytes(key));
  if (transform !== undefined) options.transform = { id: transform[0], param: transform[1] };
  return options;
}

// An offset may be beyond all bytes that there are, and beyond 2^53: no bytes are there.
function openPartitions(index, bytes) {
  return Array.from({ length: index.numPartitions }, (_, i) => {
    const { offset, len } = index.place(i);
    const start = offset < BigInt(bytes.length) ? Number(offset) : bytes.length;
    return index.openPartition(i, bytes.subarray(start, start + len));
  });
}

const OPENERS = new Map([['block', openBlock], ['compact', openCompact], ['index', openIndex]]);
const LETTERS = new Map([[true, 'm'], [false, 'n'], [undefined, '-']]);
const hex = (x) => (x === undefined ? undefined : `0x${x.toString(16)}`);
const classOf = (opened) => (opened instanceof Refusal ? opened.class : 'ok');

function replyTo(request) {
  const opened = OPENERS.get(request.frame)(hexBytes(request.bytes), optionsOf(request));
  const reply = { class: classOf(opened) };
  if (opened instanceof Refusal) return { ...reply, row: opened.row, found_context: hex(opened.foundContext) };
  const partitions = opened instanceof Index ? openPartitions(opened, hexBytes(request.partitions ?? '')) : undefined;
  const answer = (text) => LETTERS.get(opened.query(parseQuery(text), (i) => partitions[i]));
  const answers = (request.queries ?? []).map(answer).join('');
  return {
    ...reply, kind: opened.kindName, num_entries: hex(opened.numEntries), partitions: partitions?.map(classOf), answers,
  };
}

// The reply in a line. What is not a request is replied to with `error`, which the kit does not know.
function replyLine(line) {
  try {
    return JSON.stringify(replyTo(JSON.parse(line)));
  } catch (error) {
    return JSON.stringify({ error: error.message });
  }
}

if (require.main === module) {
  const lines = require('node:readline').createInterface({ input: process.stdin });
  lines.on('line', (line) => process.stdout.write(`${replyLine(line)}\n`));
}
