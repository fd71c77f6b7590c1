import java.io.*;
import java.lang.invoke.*;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.*;
import java.util.function.*;
import java.util.regex.*;
import java.util.zip.CRC32;

/**
 * A reader of the filterblock format, version 1. An instance is an opened block or compact frame.
 *
 * <p>The format is defined in {@code format-spec.md}: "section" is a section of that document, and names are those of
 * the document. Unsigned 64-bit numbers are in {@code long}. Needs Java 11 and no libraries.
 *
 * <p>As a program ({@code java FilterBlock.java}) it answers the requests of the conformance kit
 * ({@code tests/conformance}).
 */
public final class FilterBlock {
    private static final String[] KINDS = {null, "bloom", "blocked", "golomb", "ribbon", "fuse"};
    private static final int BLOOM = 1, BLOCKED = 2, GOLOMB = 3, RIBBON = 4, FUSE = 5, RANGE = 6;
    private static final int HEADER = 64, RECORD = 16;
    private static final long BLOCK_MAGIC = 0x1a0a0d4b4c4246f1L, INDEX_MAGIC = 0x1a0a0d494c4246f2L;
    private static final long GOLDEN = 0x9e3779b97f4a7c15L;

    final int kind;         // 0 in a compact frame without entries
    final Long numEntries;  // null in a compact frame
    private final Hash hash;
    private final Transform transform;
    private final Filter filter;

    private FilterBlock(int kind, Long numEntries, Hash hash, Transform transform, Filter filter) {
        this.kind = kind;
        this.numEntries = numEntries;
        this.hash = hash;
        this.transform = transform;
        this.filter = filter;
    }

    /** What a query is about (section 4.3). Only CELL, a row and a column, has a second part. */
    enum Form { KEY, PREFIX, ROW, CELL }

    /** False if what the query is about is certainly absent. */
    boolean mayContain(Form form, byte[] first, byte[] second) {
        byte[] entry = transform.entry(form, first, second);
        return entry == null || mayContainEntry(entry);
    }

    boolean mayContainEntry(byte[] entry) { return mayContainHash(hash.of(entry)); }
    boolean mayContainHash(long h) { return filter.mayContain(h); }

    /** Answers for a hash from the payload of a kind. */
    interface Filter { boolean mayContain(long h); }

    /** Checks and opens a payload under the parameters of its kind. */
    private interface PayloadReader { Filter open(Slice payload) throws Refusal; }

    // ---- Refusals (section 11) ----

    enum Outcome {
        OK, DAMAGED, NEWER, MISMATCH;

        @Override
        public String toString() { return name().toLowerCase(Locale.ROOT); }
    }

    /** The class of the first row that failed. The context is that of a mismatch in the row crc, else null. */
    static final class Refusal extends Exception {
        private static final long serialVersionUID = 1;
        final Outcome outcome;
        final String row;
        final Long foundContext;

        Refusal(Outcome outcome, String row, Long foundContext) {
            super(outcome + " in the row " + row, null, false, false);
            this.outcome = outcome;
            this.row = row;
            this.foundContext = foundContext;
        }
    }

    private static void check(boolean passed, Outcome otherwise, String row) throws Refusal {
        if (!passed) throw new Refusal(otherwise, row, null);
    }

    private static void checkRange(boolean passed) throws Refusal { check(passed, Outcome.DAMAGED, "range"); }

    /** Checks that the bits first..end are 0. */
    private static void checkUnused(Slice bytes, long first, long end) throws Refusal {
        for (long i = first; i < end; i++) check(!bytes.bit(i), Outcome.DAMAGED, "unused");
    }

    // ---- Arithmetic and bytes (section 1) ----

    /** The upper half of the unsigned product. {@code Math.multiplyHigh} is signed. */
    static long range(long x, long n) {
        return Math.multiplyHigh(x, n) + ((x >> 63) & n) + ((n >> 63) & x);
    }

    /** The exclusive or of both halves of the unsigned product. */
    static long fold(long x, long y) { return range(x, y) ^ (x * y); }

    /** For limits that are not negative. Numbers from 2^63 on are negative, so never within them. */
    static boolean within(long x, long low, long high) { return low <= x && x <= high; }

    /** Section 4.2: mix and its inverse. */
    static long mix(long z) { return mix(z, 0xff51afd7ed558ccdL, 0xc4ceb9fe1a85ec53L); }
    static long unmix(long z) { return mix(z, 0x9cb4b2f8129337dbL, 0x4f74430c22a54005L); }

    private static long mix(long z, long first, long second) {
        z = (z ^ (z >>> 33)) * first;
        z = (z ^ (z >>> 33)) * second;
        return z ^ (z >>> 33);
    }

    /** A part of an array. Offsets count from its beginning, and are checked. */
    static final class Slice {
        static final VarHandle U64 = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
        final byte[] array;
        final int start, length;

        Slice(byte[] array) { this(array, 0, array.length); }

        private Slice(byte[] array, int start, int length) {
            this.array = array;
            this.start = start;
            this.length = length;
        }

        Slice part(long offset, long size) { return new Slice(array, place(offset, size), (int) size); }
        Slice from(long offset) { return part(offset, length - offset); }
        int u8(long offset) { return array[place(offset, 1)] & 0xff; }
        int u16(long offset) { return (int) integer(offset, 2); }
        long u32(long offset) { return integer(offset, 4); }
        long u64(long offset) { return (long) U64.get(array, place(offset, 8)); }
        boolean bit(long i) { return (u8(i >>> 3) >> (i & 7) & 1) != 0; }

        /** An integer of 0 to 8 bytes. */
        long integer(long offset, int size) {
            int place = place(offset, size);
            long value = 0;
            for (int i = size - 1; i >= 0; i--) value = value << 8 | (array[place + i] & 0xff);
            return value;
        }

        /** A field of 0 to 57 bits, which lies in at most eight bytes. Bits after the last byte are 0. */
        long field(long bit, int width) {
            long offset = bit >>> 3;
            return integer(offset, (int) Math.min(8, length - offset)) >>> (bit & 7) & ((1L << width) - 1);
        }

        private int place(long offset, long size) {
            if (offset < 0 || size < 0 || size > length - offset) throw new IndexOutOfBoundsException();
            return start + (int) offset;
        }
    }

    // ---- Hash (section 3) ----

    /** A hash function with its seed or key. */
    static final class Hash {
        final int id;
        final long seed;  // of the function, or the key's id, as in a header
        private final ToLongFunction<Slice> function;

        private Hash(int id, long seed, ToLongFunction<Slice> function) {
            this.id = id;
            this.seed = seed;
            this.function = function;
        }

        static Hash seeded(long seed) { return new Hash(1, seed, entry -> XxHash3.hash(entry, seed)); }

        static Hash keyed(byte[] key) {
            if (key.length != 16) throw new IllegalArgumentException("a key has 16 bytes");
            long k0 = new Slice(key).u64(0), k1 = new Slice(key).u64(8);
            Slice text = new Slice("filterblock key id".getBytes(StandardCharsets.US_ASCII));
            return new Hash(2, sipHash(k0, k1, text), entry -> sipHash(k0, k1, entry));
        }

        long of(byte[] entry) { return function.applyAsLong(new Slice(entry)); }

        /** SipHash-1-3 (section 3.2). */
        static long sipHash(long k0, long k1, Slice entry) {
            long[] v = {k0 ^ 0x736f6d6570736575L, k1 ^ 0x646f72616e646f6dL,
                        k0 ^ 0x6c7967656e657261L, k1 ^ 0x7465646279746573L};
            int whole = entry.length & ~7;
            for (int i = 0; i < whole; i += 8) sipWord(v, entry.u64(i));
            sipWord(v, entry.integer(whole, entry.length - whole) | (long) entry.length << 56);
            v[2] ^= 0xff;
            for (int i = 0; i < 3; i++) sipRound(v);
            return v[0] ^ v[1] ^ v[2] ^ v[3];
        }

        private static void sipWord(long[] v, long m) {
            v[3] ^= m;
            sipRound(v);
            v[0] ^= m;
        }

        private static void sipRound(long[] v) {
            v[0] += v[1]; v[1] = Long.rotateLeft(v[1], 13) ^ v[0]; v[0] = Long.rotateLeft(v[0], 32);
            v[2] += v[3]; v[3] = Long.rotateLeft(v[3], 16) ^ v[2];
            v[0] += v[3]; v[3] = Long.rotateLeft(v[3], 21) ^ v[0];
            v[2] += v[1]; v[1] = Long.rotateLeft(v[1], 17) ^ v[2]; v[2] = Long.rotateLeft(v[2], 32);
        }
    }

    /** {@code XXH3_64bits_withSeed} of xxHash 0.8.0 (section 3.1). */
    static final class XxHash3 {
        private static final long P32_1 = 0x9e3779b1L, P32_2 = 0x85ebca77L, P32_3 = 0xc2b2ae3dL;
        private static final long P64_1 = 0x9e3779b185ebca87L, P64_2 = 0xc2b2ae3d27d4eb4fL, P64_3 = 0x165667b19e3779f9L;
        private static final long P64_4 = 0x85ebca77c2b2ae63L, P64_5 = 0x27d4eb2f165667c5L;
        private static final Slice SECRET = new Slice(fromHex(
            "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671fcb79e64eccc0e578825ad07dccff7221"
            + "b8084674f743248ee03590e6813a264c3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8"
            + "a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364eac5ac8334d3ebc3c581a0fffa1363eb"
            + "170ddd51b7f0da49d316552629d4689e2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e"));

        static long hash(Slice in, long seed) {
            int n = in.length;
            if (n <= 16) return n > 8 ? hash9to16(in, seed) : n > 3 ? hash4to8(in, seed) : hash0to3(in, seed);
            return n <= 128 ? hash17to128(in, seed) : n <= 240 ? hash129to240(in, seed) : hashLong(in, seed);
        }

        private static long hash0to3(Slice in, long seed) {
            int n = in.length;
            if (n == 0) return avalanche64(seed ^ SECRET.u64(56) ^ SECRET.u64(64));
            long input = (long) in.u8(0) << 16 | (long) in.u8(n >> 1) << 24 | in.u8(n - 1) | (long) n << 8;
            return avalanche64(input ^ ((SECRET.u32(0) ^ SECRET.u32(4)) + seed));
        }

        private static long hash4to8(Slice in, long seed) {
            int n = in.length;
            seed ^= (long) Integer.reverseBytes((int) seed) << 32;
            long input = in.u32(n - 4) + (in.u32(0) << 32);
            long h = input ^ ((SECRET.u64(8) ^ SECRET.u64(16)) - seed);
            h = (h ^ Long.rotateLeft(h, 49) ^ Long.rotateLeft(h, 24)) * 0x9fb21c651e98df25L;
            h = (h ^ ((h >>> 35) + n)) * 0x9fb21c651e98df25L;
            return h ^ (h >>> 28);
        }

        private static long hash9to16(Slice in, long seed) {
            int n = in.length;
            long low = in.u64(0) ^ ((SECRET.u64(24) ^ SECRET.u64(32)) + seed);
            long high = in.u64(n - 8) ^ ((SECRET.u64(40) ^ SECRET.u64(48)) - seed);
            return avalanche(n + Long.reverseBytes(low) + high + fold(low, high));
        }

        private static long hash17to128(Slice in, long seed) {
            int n = in.length;
            long acc = n * P64_1;
            for (int i = (n - 1) / 32; i >= 0; i--) {
                acc += mix16(in, 16 * i, 32 * i, seed) + mix16(in, n - 16 * (i + 1), 32 * i + 16, seed);
            }
            return avalanche(acc);
        }

        private static long hash129to240(Slice in, long seed) {
            int n = in.length;
            long acc = n * P64_1;
            for (int i = 0; i < 8; i++) acc += mix16(in, 16 * i, 16 * i, seed);
            acc = avalanche(acc);
            for (int i = 8; i < n / 16; i++) acc += mix16(in, 16 * i, 16 * (i - 8) + 3, seed);
            return avalanche(acc + mix16(in, n - 16, 136 - 17, seed));
        }

        private static long mix16(Slice in, int at, int secretAt, long seed) {
            return fold(in.u64(at) ^ (SECRET.u64(secretAt) + seed), in.u64(at + 8) ^ (SECRET.u64(secretAt + 8) - seed));
        }

        /** Stripes of 64 bytes, in blocks of 16. The last stripe ends with the input. */
        private static long hashLong(Slice in, long seed) {
            int n = in.length;
            Slice secret = secretOf(seed);
            long[] acc = {P32_3, P64_1, P64_2, P64_3, P64_4, P32_2, P64_5, P32_1};
            for (int i = 0; i < (n - 1) / 64; i++) {
                accumulate(acc, in, 64 * i, secret, 8 * (i % 16));
                if (i % 16 == 15) scramble(acc, secret);
            }
            accumulate(acc, in, n - 64, secret, secret.length - 64 - 7);
            long h = n * P64_1;
            for (int i = 0; i < 8; i += 2) {
                h += fold(acc[i] ^ secret.u64(11 + 8 * i), acc[i + 1] ^ secret.u64(19 + 8 * i));
            }
            return avalanche(h);
        }

        private static Slice secretOf(long seed) {
            byte[] secret = new byte[SECRET.length];
            for (int i = 0; i < secret.length; i += 16) {
                Slice.U64.set(secret, i, SECRET.u64(i) + seed);
                Slice.U64.set(secret, i + 8, SECRET.u64(i + 8) - seed);
            }
            return new Slice(secret);
        }

        private static void accumulate(long[] acc, Slice in, int at, Slice secret, int secretAt) {
            for (int i = 0; i < 8; i++) {
                long value = in.u64(at + 8 * i);
                long key = value ^ secret.u64(secretAt + 8 * i);
                acc[i ^ 1] += value;
                acc[i] += (key & 0xffffffffL) * (key >>> 32);
            }
        }

        private static void scramble(long[] acc, Slice secret) {
            for (int i = 0; i < 8; i++) {
                acc[i] = (acc[i] ^ (acc[i] >>> 47) ^ secret.u64(secret.length - 64 + 8 * i)) * P32_1;
            }
        }

        private static long avalanche(long h) {
            h = (h ^ (h >>> 37)) * 0x165667919e3779f9L;
            return h ^ (h >>> 32);
        }

        private static long avalanche64(long h) {
            h = (h ^ (h >>> 33)) * P64_2;
            h = (h ^ (h >>> 29)) * P64_3;
            return h ^ (h >>> 32);
        }
    }

    // ---- Transforms (section 4.3) ----

    static final class Transform {
        final int id, param;

        Transform(int id, int param) {
            this.id = id;
            this.param = param;
        }

        boolean isSame(Transform other) { return id == other.id && param == other.param; }

        /** The entry of a query, or null if it has none. */
        byte[] entry(Form form, byte[] first, byte[] second) {
            switch (id) {
                case 0: return form == Form.KEY ? first : null;
                case 1: return form == Form.ROW || form == Form.CELL ? first : null;
                case 2: return form == Form.CELL ? pairEntry(first, second) : null;
                case 3: return form == Form.KEY || form == Form.PREFIX ? prefix(first) : null;
                case 4: return form == Form.KEY ? first : form == Form.PREFIX ? prefix(first) : null;
                case 5: return form == Form.KEY || form == Form.PREFIX ? upToDelimiter(first) : null;
                default: return null;
            }
        }

        /** The order key of a query that has an entry (section 15.1). */
        byte[] orderKey(Form form, byte[] first, byte[] second) {
            return id == 2 ? pairOrderKey(first, second) : entry(form, first, second);
        }

        /** Up to the last of the first param >> 8 delimiters. */
        private byte[] upToDelimiter(byte[] key) {
            int end = 0;
            for (int at = 0, left = param >> 8; at < key.length && left > 0; at++) {
                if (key[at] != (byte) param) continue;
                end = at + 1;
                left--;
            }
            return end == 0 ? null : Arrays.copyOf(key, end);
        }

        private byte[] prefix(byte[] key) { return key.length < param ? null : Arrays.copyOf(key, param); }

        private static byte[] pairEntry(byte[] row, byte[] column) {
            ByteArrayOutputStream entry = new ByteArrayOutputStream();
            entry.writeBytes(row);
            entry.writeBytes(column);
            for (int i = 0; i < 4; i++) entry.write(row.length >>> 8 * i);
            return entry.toByteArray();
        }

        private static byte[] pairOrderKey(byte[] row, byte[] column) {
            ByteArrayOutputStream key = new ByteArrayOutputStream();
            for (byte b : row) {
                key.write(b);
                if (b == 0) key.write(1);
            }
            key.writeBytes(new byte[2]);
            key.writeBytes(column);
            return key.toByteArray();
        }
    }

    // ---- Kinds (sections 5 to 9): the rows "range" and "unused" of section 11, and the answers ----

    /** Section 5. */
    private static Filter bloom(int numProbes, long numBits, Slice payload) throws Refusal {
        checkRange(within(numProbes, 1, 64) && within(numBits, 1, 1L << 56));
        checkRange(payload.length == (numBits + 7) / 8);
        checkUnused(payload, numBits, 8L * payload.length);
        return h -> {
            long x = h;
            for (int i = 0; i < numProbes; i++, x *= 0xf1357aea2e62a9c5L) {
                if (!payload.bit(range(x, numBits))) return false;
            }
            return true;
        };
    }

    private static final int[] M = {
        0x9e3779b1, 0x85ebca77, 0xc2b2ae3d, 0x27d4eb2f, 0x165667b1, 0xd3a2646d, 0xfd7046c5, 0xb55a4f09};

    /** Section 6. */
    private static Filter blocked(int numProbes, int saltBits, Slice payload) throws Refusal {
        checkRange(within(numProbes, 1, 16) && within(saltBits, 0, 6));
        checkRange(payload.length > 0 && payload.length % 64 == 0);
        return h -> {
            long line = range(h, payload.length / 64);
            int x1 = (int) h, x2 = (int) (h * 0xd1342543de82ef95L >>> 32), first = x1 * 0x8cb92ba7 >>> 29;
            for (int w = 0; w < 8; w++) {
                long word = payload.u64(64 * line + 8 * w);
                int salt = saltBits == 0 ? 0 : (int) (word >>> 64 - saltBits);
                int mult = M[w] + salt * 0xd1b54a32;
                int place = (w - first) & 7;
                if (place < numProbes && !isSet(word, x1 * mult, 64 - saltBits)) return false;
                if (place < numProbes - 8 && !isSet(word, x2 * mult, 64 - saltBits)) return false;
            }
            return true;
        };
    }

    /** Whether the bit at position range32(x, positions) of the word is 1. */
    private static boolean isSet(long word, int x, int positions) {
        return (word >>> ((x & 0xffffffffL) * positions >>> 32) & 1) != 0;
    }

    /** Section 7. */
    private static Filter golomb(long numBuckets, long bucketRange, int r, int d, Slice payload) throws Refusal {
        checkRange(within(r, 0, 48) && within(d, 0, 57));
        checkRange(numBuckets != 0 && bucketRange != 0 && range(numBuckets, bucketRange) == 0);
        // The anchors of more buckets are longer than the payload. All that follows is below 2^42.
        checkRange(within(numBuckets, 1, 8L * payload.length + 64));
        long anchorsLen = 8 * ((numBuckets + 63) / 64 - 1);
        long directoryBits = numBuckets == 1 ? 0 : numBuckets * d, directoryLen = (directoryBits + 7) / 8;
        checkRange(anchorsLen + directoryLen < payload.length);
        Slice anchors = payload.part(0, anchorsLen), directory = payload.part(anchorsLen, directoryLen);
        Slice codes = payload.from(anchorsLen + directoryLen);
        checkUnused(directory, directoryBits, 8 * directoryLen);
        long numBits = 8L * codes.length;  // C
        long slope = 256 * numBits / numBuckets;
        long bias = d == 0 ? 0 : 1L << d - 1;
        LongUnaryOperator start = b -> {
            if (b == numBuckets) return numBits;
            if (numBuckets == 1) return 0;
            long anchor = b < 64 ? 0 : anchors.u64(8 * (b / 64 - 1));
            return anchor + (slope * (b % 64) >>> 8) + directory.field(b * d, d) - bias;
        };
        return h -> {
            long bucket = range(h, numBuckets), value = range(h * numBuckets, bucketRange);
            long s = start.applyAsLong(bucket), e = start.applyAsLong(bucket + 1);  // of damaged bytes, any numbers
            boolean isOrdered = Long.compareUnsigned(s, e) <= 0 && Long.compareUnsigned(e, numBits) <= 0;
            return !isOrdered || e - s > 512 * (r + 2) || bucketContains(value, codes, s, e, r);
        };
    }

    /** Whether a value is in the bucket of the bits s..e, which are bits of the codes. */
    private static boolean bucketContains(long value, Slice codes, long s, long e, int r) {
        long unary = s, remainders = e, next = 0;
        while (remainders >= unary + r + 1) {
            remainders -= r;
            long one = firstOne(codes, unary, remainders);
            if (one < 0) return false;
            long gap = (one - unary << r) + codes.field(remainders, r);
            if (next + gap == value) return true;
            next += gap + 1;
            unary = one + 1;
        }
        return false;
    }

    /** The first one bit in from..to, or -1. */
    private static long firstOne(Slice bytes, long from, long to) {
        for (long i = from; i < to; i += 57) {
            long bits = bytes.field(i, (int) Math.min(57, to - i));
            if (bits != 0) return i + Long.numberOfTrailingZeros(bits);
        }
        return -1;
    }

    /** Section 8. */
    private static Filter ribbon(int c, int numLayers, int lastSeed, int thinnedFrom, long wideShare, Slice payload)
            throws Refusal {
        checkRange(within(c, 1, 32) && within(numLayers, 1, 8) && within(lastSeed, 0, 31));
        checkRange(thinnedFrom == 0 || within(thinnedFrom, c + 1, 32) && wideShare == 0);
        checkRange(wideShare == 0 || within(wideShare, 1, 0xffffffffL) && c < 32);
        int directory = payload.length - 4 * numLayers;
        checkRange(directory >= 0);
        RibbonLayer[] layers = new RibbonLayer[numLayers];
        long end = 0;  // eight layers of 2^32 blocks end below 2^44
        for (int i = 0; i < numLayers; i++) {
            long numBlocks = payload.u32(directory + 4 * i);
            checkRange(numBlocks >= 2);
            layers[i] = new RibbonLayer(payload, numBlocks, c, wideShare, end);
            end = layers[i].solutionEnd;
        }
        for (int i = 0; i < numLayers - 1; i++) {
            layers[i].thresholds = end;
            end += (layers[i].buckets + 3) / 4;
        }
        checkRange(end == directory);
        for (int i = 0; i < numLayers - 1; i++) {
            long first = 8 * layers[i].thresholds + 2 * layers[i].buckets;
            checkUnused(payload, first, (first + 7) / 8 * 8);
        }
        return h -> {
            long x = h;
            for (int i = 0;; i++) {
                boolean isLast = i == numLayers - 1;
                int steps = (i > 0 ? 1 : 0) + (isLast ? lastSeed : 0);
                if (steps > 0) x = mix(x ^ steps * GOLDEN);
                long start = range(x, layers[i].slots);
                if (isLast || !layers[i].bumps(start)) return layers[i].holds(x, start);
            }
        };
    }

    /** A layer, and the answer for a hash that belongs to it. */
    private static final class RibbonLayer {
        private static final int[] LIMITS = {128, 116, 96, 0};
        final Slice payload;
        final long columns, numWide, numStored;
        final long slots, buckets;         // num_starts, and the number of buckets
        final long solution, solutionEnd;  // in bytes of the payload
        long thresholds;                   // where they begin; not set in the last layer

        RibbonLayer(Slice payload, long numBlocks, int columns, long wideShare, long solution) {
            this.payload = payload;
            this.columns = columns;
            this.numWide = (numBlocks - 1) * wideShare + 0xffffffffL >>> 32;  // the sum is below 2^64, unsigned
            this.numStored = numWide == 0 ? 0 : numWide + 1;
            this.slots = 64 * (numBlocks - 1);
            this.buckets = (slots + 127) / 128;
            this.solution = solution;
            this.solutionEnd = words(numBlocks);
        }

        boolean bumps(long start) {
            int threshold = (int) payload.field(8 * thresholds + 2 * (start / 128), 2);
            return 127 - start % 128 >= LIMITS[threshold];
        }

        /** Whether the equations of x, which begin at the slot start, hold in all columns. */
        boolean holds(long x, long start) {
            long coefficients = fold(x, 0xd1342543de82ef95L) | 1;
            long fingerprint = x * 0xa24baed4963ee407L >>> 32;
            long b = start / 64, s = start % 64;
            long low = coefficients << s, high = s == 0 ? 0 : coefficients >>> 64 - s;
            long u = words(b), v = words(b + 1);
            long checked = b < numWide ? columns + 1 : columns;
            for (int k = 0; k < checked; k++) {
                long w = payload.u64(u + 8 * k) & low ^ payload.u64(v + 8 * k) & high;
                if ((Long.bitCount(w) & 1) != (fingerprint >>> k & 1)) return false;
            }
            return true;
        }

        /** Where the words of block b begin in the payload. */
        private long words(long b) { return solution + 8 * (b * columns + Math.min(b, numStored)); }
    }

    /** Section 9. */
    private static Filter fuse(int f, int log2SegmentLen, int seed, long numSegments, Slice payload) throws Refusal {
        checkRange(within(f, 1, 32) && within(log2SegmentLen, 0, 18) && within(seed, 0, 63));
        checkRange(within(numSegments, 1, 0xffffffffL));
        long segmentLen = 1L << log2SegmentLen;
        long numSlots = (numSegments + 3) * segmentLen;
        checkRange(payload.length == (numSlots - 1) * f / 8 + 8);
        checkUnused(payload, numSlots * f, 8L * payload.length);
        return h -> {
            long x = seed == 0 ? h : mix(h ^ seed * GOLDEN);
            long start = range(x, numSegments * segmentLen);
            long offsets = fold(x, 0xd1342543de82ef95L);
            long sum = payload.field(start * f, f);
            for (int k = 1; k <= 3; k++) {
                long slot = start + k * segmentLen ^ offsets >>> 18 * (k - 1) & segmentLen - 1;
                sum ^= payload.field(slot * f, f);
            }
            return sum == (x * 0xa24baed4963ee407L >>> 32 & (1L << f) - 1);
        };
    }

    /** A remapped filter: set_seed follows the kind's payload (section 4.5). */
    private static Filter remapped(Slice payload, PayloadReader reader) throws Refusal {
        checkRange(payload.length >= 8);
        long setSeed = payload.u64(payload.length - 8);
        checkRange(setSeed != 0);
        Filter filter = reader.open(payload.part(0, payload.length - 8));
        return h -> filter.mayContain(mix(h ^ setSeed));
    }

    // ---- Block (sections 4 and 11) ----

    /** Opens a block under a context. A hash or transform of null is not compared with the block's. */
    static FilterBlock openBlock(Slice block, long context, Hash hash, Transform transform) throws Refusal {
        checkFrame(block, BLOCK_MAGIC, context);
        int kind = block.u8(9);
        check(kind != RANGE, Outcome.MISMATCH, "kind");
        check(within(kind, BLOOM, FUSE), Outcome.NEWER, "kind");
        checkNumbers(block, 0xfe00);
        Hash entryHash = checkPayload(block, context, hash, transform);
        return new FilterBlock(kind, block.u64(24), entryHash, transformOf(block), openPayload(block, kind));
    }

    /** The rows from length to version, for the header of a block or an index. */
    private static void checkFrame(Slice frame, long magic, long context) throws Refusal {
        check(frame.length >= HEADER, Outcome.DAMAGED, "length");
        check(frame.u64(0) == magic, Outcome.DAMAGED, "magic");
        CRC32 crc = new CRC32();
        crc.update(frame.array, frame.start, 60);
        int c = (int) frame.u32(60) ^ Integer.rotateRight((int) crc.getValue(), 15) + 0xa282ead8;
        if (c != (int) mix(context)) {
            long d = mixOfContext(frame);
            check(c == (int) d, Outcome.DAMAGED, "crc");
            throw new Refusal(Outcome.MISMATCH, "crc", unmix(d));
        }
        int version = frame.u8(8);
        check(version == 1, version == 0 ? Outcome.DAMAGED : Outcome.NEWER, "version");
    }

    /** The mix of the context under which an intact frame was written (section 4.2). */
    private static long mixOfContext(Slice frame) { return frame.u64(52) ^ XxHash3.hash(frame.from(HEADER), 0); }

    /** The rows from hash_id to transform. */
    private static void checkNumbers(Slice frame, int rejectedFeatures) throws Refusal {
        check(within(frame.u8(10), 1, 2), Outcome.NEWER, "hash_id");
        check((frame.u16(12) & rejectedFeatures) == 0, Outcome.NEWER, "features");
        Transform transform = transformOf(frame);
        boolean known = !within(transform.id, 6, 127) && (transform.id > 2 || transform.param == 0);
        check(known, Outcome.NEWER, "transform");
    }

    private static Transform transformOf(Slice frame) { return new Transform(frame.u8(11), frame.u16(14)); }

    /** The rows from payload_len to key. Returns the hash of the entries. */
    private static Hash checkPayload(Slice frame, long context, Hash hash, Transform transform) throws Refusal {
        check(frame.u64(32) == frame.length - HEADER, Outcome.DAMAGED, "payload_len");
        check(mixOfContext(frame) == mix(context), Outcome.DAMAGED, "digest");
        int hashId = frame.u8(10);
        long seed = frame.u64(16);
        check(hash == null || hash.id == hashId && hash.seed == seed, Outcome.MISMATCH, "expected");
        check(transform == null || transform.isSame(transformOf(frame)), Outcome.MISMATCH, "expected");
        check(hash != null || hashId == 1, Outcome.MISMATCH, "key");
        return hash != null ? hash : Hash.seeded(seed);
    }

    /** The rows from estimate on. */
    private static Filter openPayload(Slice block, int kind) throws Refusal {
        int features = block.u16(12);
        long numEntries = block.u64(24);
        Slice payload = block.from(HEADER);
        boolean isRemapped = (features & 0x100) != 0;
        check((features & 1) == 0 || kind == BLOOM && numEntries != 0, Outcome.DAMAGED, "estimate");
        check(!isRemapped || kind >= GOLOMB && numEntries != 0, Outcome.DAMAGED, "remapped");
        check(numEntries != 0 || payload.length == 0, Outcome.DAMAGED, "empty-len");
        for (int i = 0; i < 12; i++) {
            boolean mayBeSet = numEntries != 0 && (RESERVED[kind] >> i & 1) == 0;
            check(mayBeSet || block.u8(40 + i) == 0, Outcome.NEWER, numEntries == 0 ? "empty-params" : "reserved");
        }
        if (numEntries == 0) return h -> false;
        PayloadReader reader = readerOfParams(kind, block.part(40, 12), numEntries);
        return isRemapped ? remapped(payload, reader) : reader.open(payload);
    }

    /** Reserved bytes of params: bit i of a kind's number for byte i. */
    private static final int[] RESERVED = {0, 0x00e, 0xffc, 0x008, 0xf00, 0xf08};

    private static PayloadReader readerOfParams(int kind, Slice params, long numEntries) {
        int p0 = params.u8(0), p1 = params.u8(1), p2 = params.u8(2), p3 = params.u8(3);
        long upper32 = params.u32(4), upper64 = params.u64(4);
        switch (kind) {
            case BLOOM: return payload -> bloom(p0, upper64, payload);
            case BLOCKED: return payload -> blocked(p0, p1, payload);
            case GOLOMB: return payload -> golomb(numBuckets(numEntries, p2), upper64, p0, p1, payload);
            case RIBBON: return payload -> ribbon(p0, p1, p2, p3, upper32, payload);
            default: return payload -> fuse(p0, p1, p2, upper32, payload);
        }
    }

    private static long numBuckets(long numEntries, int entriesPerBucket) throws Refusal {
        checkRange(entriesPerBucket != 0);
        long whole = Long.divideUnsigned(numEntries, entriesPerBucket);
        return whole * entriesPerBucket == numEntries ? whole : whole + 1;
    }

    // ---- Compact frame (section 10) ----

    static FilterBlock openCompact(Slice frame, Hash hash, Transform transform) throws Refusal {
        check(frame.length > 0, Outcome.DAMAGED, "tag");
        int tag = frame.u8(frame.length - 1), version = tag >> 4, kind = tag & 7;
        check(version == 1, version == 0 || version == 15 ? Outcome.DAMAGED : Outcome.NEWER, "version");
        if (tag == 0x10) {
            check(frame.length == 1, Outcome.DAMAGED, "empty");
            return new FilterBlock(0, null, hash, transform, h -> false);
        }
        boolean isRemapped = (tag & 8) != 0;
        check(within(kind, isRemapped ? GOLOMB : BLOOM, FUSE), Outcome.NEWER, "kind");
        check(frame.length >= 2, Outcome.DAMAGED, "trailer");
        int form = frame.u8(frame.length - 2);
        int trailerLen = trailerLen(kind, form);
        check(frame.length >= trailerLen, Outcome.DAMAGED, "trailer");
        Slice payload = frame.part(0, frame.length - trailerLen);
        PayloadReader reader = readerOfTrailer(kind, form, frame.from(payload.length));
        try {
            Filter filter = isRemapped ? remapped(payload, reader) : reader.open(payload);
            return new FilterBlock(kind, null, hash, transform, filter);
        } catch (Refusal refusal) {
            throw new Refusal(refusal.outcome, "payload", null);
        }
    }

    /** The length with the tag and without set_seed. The form is the byte before the tag. */
    private static int trailerLen(int kind, int form) {
        int i = form >> 4, j = form & 15;
        switch (kind) {
            case GOLOMB: return isShortGolomb(form) ? 3 : i + j + 4;
            case RIBBON: return j == 15 ? 5 : j + 4;
            case FUSE: return (form & 7) + 4;
            default: return 2;
        }
    }

    private static boolean isShortGolomb(int form) { return within(form, 1, 15); }

    /** The row integers, and the parameters of the kind. */
    private static PayloadReader readerOfTrailer(int kind, int form, Slice trailer) throws Refusal {
        int i = form >> 4, j = form & 15;
        switch (kind) {
            case BLOOM: return payload -> bloom(form, 8L * payload.length, payload);
            case BLOCKED: return payload -> blocked(i + 1, j, payload);
            case GOLOMB:
                return isShortGolomb(form) ? readerOfShortGolomb(form, trailer) : readerOfGolomb(i, j, trailer);
            case RIBBON: return readerOfRibbon(i, j, trailer);
            default: return readerOfFuse(form >> 3, form & 7, trailer);
        }
    }

    private static PayloadReader readerOfShortGolomb(int r, Slice trailer) throws Refusal {
        long shortRange = checkedInteger(trailer, 0, 1);
        return payload -> golomb(1, shortRange << r - 1, r, 0, payload);
    }

    private static PayloadReader readerOfGolomb(int i, int j, Slice trailer) throws Refusal {
        long numBuckets = checkedInteger(trailer, 0, i), bucketRange = checkedInteger(trailer, i, j);
        return payload -> golomb(numBuckets, bucketRange, trailer.u8(i + j), trailer.u8(i + j + 1), payload);
    }

    private static PayloadReader readerOfRibbon(int numLayers, int j, Slice trailer) throws Refusal {
        int lastSeed = trailer.u8(trailer.length - 4), columns = trailer.u8(trailer.length - 3);
        int thinnedFrom = j == 15 ? (int) checkedInteger(trailer, 0, 1) : 0;
        long wideShare = j == 15 || j == 0 ? 0 : checkedInteger(trailer, 0, j);
        return payload -> ribbon(columns, numLayers, lastSeed, thinnedFrom, wideShare, payload);
    }

    private static PayloadReader readerOfFuse(int log2SegmentLen, int j, Slice trailer) throws Refusal {
        long numSegments = checkedInteger(trailer, 0, j);
        return payload -> fuse(trailer.u8(j + 1), log2SegmentLen, trailer.u8(j), numSegments, payload);
    }

    /** An integer of 1 to 8 bytes, of which the last is not 0. */
    private static long checkedInteger(Slice trailer, int offset, int size) throws Refusal {
        check(within(size, 1, 8) && trailer.u8(offset + size - 1) != 0, Outcome.DAMAGED, "integers");
        return trailer.integer(offset, size);
    }

    // ---- Index of a partitioned filter (section 15) ----

    static final class Index {
        final int numPartitions;
        final long numEntries;
        private final long context;
        private final Hash hash;
        private final Transform transform;
        private final Slice records, separators;

        private Index(Slice frame, long context, Hash hash) {
            Slice payload = frame.from(HEADER);
            this.numPartitions = (int) frame.u32(40);
            this.numEntries = frame.u64(24);
            this.context = context;
            this.hash = hash;
            this.transform = transformOf(frame);
            this.records = payload.part(0, (long) RECORD * numPartitions);
            this.separators = payload.from(records.length);
        }

        static Index open(Slice frame, long context, Hash hash, Transform transform) throws Refusal {
            checkFrame(frame, INDEX_MAGIC, context);
            check(frame.u8(9) != RANGE, Outcome.MISMATCH, "kind");
            check(frame.u8(9) == 0, Outcome.NEWER, "kind");
            checkNumbers(frame, 0xff00);
            check(frame.u64(44) == 0, Outcome.NEWER, "reserved");
            Hash entryHash = checkPayload(frame, context, hash, transform);
            long numPartitions = frame.u32(40), numEntries = frame.u64(24);
            check(RECORD * numPartitions <= frame.length - HEADER, Outcome.DAMAGED, "records");
            check(Long.compareUnsigned(numEntries, numPartitions) >= 0, Outcome.DAMAGED, "entries");
            check(numPartitions != 0 || numEntries == 0, Outcome.DAMAGED, "entries");
            Index index = new Index(frame, context, entryHash);
            check(index.recordsAreValid(), Outcome.DAMAGED, "record");
            check(index.separatorsAscend(), Outcome.DAMAGED, "order");
            return index;
        }

        private boolean recordsAreValid() {
            long end = 0;
            for (int i = 0; i < numPartitions; i++) {
                long offset = offset(i), room = -len(i);  // 2^64 - len
                if (len(i) < HEADER || separatorStart(i) > separatorEnd(i)) return false;
                if (Long.compareUnsigned(offset, end) < 0 || Long.compareUnsigned(offset, room) >= 0) return false;
                end = offset + len(i);
            }
            return separatorStart(numPartitions) == separators.length;
        }

        private boolean separatorsAscend() {
            for (int i = 1; i < numPartitions; i++) {
                if (compare(separator(i - 1), separator(i)) >= 0) return false;
            }
            return true;
        }

        private long offset(int i) { return records.u64(RECORD * i); }
        private long len(int i) { return records.u32(RECORD * i + 8); }
        private long separatorEnd(int i) { return records.u32(RECORD * i + 12); }
        private long separatorStart(int i) { return i == 0 ? 0 : separatorEnd(i - 1); }

        private Slice separator(int i) {
            return separators.part(separatorStart(i), separatorEnd(i) - separatorStart(i));
        }

        private static int compare(Slice a, Slice b) {
            return Arrays.compareUnsigned(a.array, a.start, a.start + a.length, b.array, b.start, b.start + b.length);
        }

        /** The first partition whose separator is at least the order key, or numPartitions. */
        private int find(Slice orderKey) {
            int low = 0, high = numPartitions;
            while (low < high) {
                int middle = low + high >>> 1;
                if (compare(separator(middle), orderKey) < 0) low = middle + 1;
                else high = middle;
            }
            return low;
        }

        /** Opens partition i, in bytes that contain partitions at their offsets. */
        FilterBlock openPartition(int i, Slice partitions) throws Refusal {
            boolean begins = Long.compareUnsigned(offset(i), partitions.length) < 0;
            Slice stored = begins ? partitions.from(offset(i)) : new Slice(new byte[0]);
            Slice block = stored.part(0, Math.min(len(i), stored.length));  // perhaps a part of it
            return openBlock(block, mix(context ^ GOLDEN) + i, hash, transform);
        }

        boolean mayContain(Form form, byte[] first, byte[] second, Slice partitions) {
            byte[] entry = transform.entry(form, first, second);
            return entry == null || mayContainAt(transform.orderKey(form, first, second), entry, partitions);
        }

        boolean mayContainAt(byte[] orderKey, byte[] entry, Slice partitions) {
            int i = find(new Slice(orderKey));
            try {
                return i < numPartitions && openPartition(i, partitions).mayContainEntry(entry);
            } catch (Refusal refusal) {
                return true;
            }
        }
    }

    // ---- Conformance kit (tests/conformance/README.md) ----

    public static void main(String[] arguments) throws IOException {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            System.out.print(reply(line) + "\n");
            System.out.flush();
        }
    }

    /** The reply to a request. A line that is not a request has an error in place of a class. */
    private static String reply(String line) {
        try {
            return "{" + answer(request(line)) + "}";
        } catch (Refusal refusal) {
            String found = refusal.foundContext == null ? "" : field("found_context", hex(refusal.foundContext));
            return "{" + classField(refusal.outcome) + field("row", refusal.row) + found + "}";
        } catch (RuntimeException error) {
            return "{\"error\": \"" + error.getClass().getSimpleName() + "\"}";
        }
    }

    /** A field with a string without escapes or an array of such strings or numbers: all that requests consist of. */
    private static final Pattern FIELD =
        Pattern.compile("\\G[{,]\\s*\"(\\w+)\"\\s*:\\s*(\"[^\"\\\\]*\"|\\[[^\\]\\\\]*])\\s*");
    private static final Pattern ITEM = Pattern.compile("\"([^\"]*)\"|(\\d+)");

    /** The fields of a request, each a list. That of a string has one item. */
    private static Map<String, List<String>> request(String line) {
        Map<String, List<String>> fields = new HashMap<>();
        int end = 0;
        for (Matcher field = FIELD.matcher(line); field.find(); end = field.end()) {
            List<String> items = new ArrayList<>();
            Matcher item = ITEM.matcher(field.group(2));
            while (item.find()) items.add(item.group(1) != null ? item.group(1) : item.group(2));
            fields.put(field.group(1), items);
        }
        if (!line.substring(end).trim().equals("}")) throw new IllegalArgumentException("not a request");
        return fields;
    }

    private static String answer(Map<String, List<String>> request) throws Refusal {
        Slice bytes = new Slice(fromHex(request.get("bytes").get(0)));
        long context = request.containsKey("context") ? number(request.get("context").get(0)) : 0;
        Hash hash = request.containsKey("key") ? Hash.keyed(fromHex(request.get("key").get(0)))
            : request.containsKey("seed") ? Hash.seeded(number(request.get("seed").get(0))) : null;
        List<String> pair = request.get("transform");
        Transform transform = pair == null ? null
            : new Transform(Integer.parseInt(pair.get(0)), Integer.parseInt(pair.get(1)));
        List<String> queries = request.getOrDefault("queries", List.of());
        switch (request.get("frame").get(0)) {
            case "block": return answer(openBlock(bytes, context, hash, transform), queries);
            case "compact": return answer(openCompact(bytes, hash, transform), queries);
            case "index":
                Slice partitions = new Slice(fromHex(request.getOrDefault("partitions", List.of("")).get(0)));
                return answer(Index.open(bytes, context, hash, transform), queries, partitions);
            default: throw new IllegalArgumentException("frame");
        }
    }

    private static String answer(FilterBlock block, List<String> queries) {
        String answers = answers(queries, words -> {
            switch (words[0]) {
                case "entry": return block.mayContainEntry(fromHex(words[1]));
                case "long": return block.mayContainEntry(longEntry(Integer.parseInt(words[1])));
                case "hash": return block.mayContainHash(number(words[1]));
                default: return block.mayContain(form(words), fromHex(words[1]), second(words));
            }
        });
        String kind = block.kind == 0 ? "" : field("kind", KINDS[block.kind]);
        String numEntries = block.numEntries == null ? "" : field("num_entries", hex(block.numEntries));
        return classField(Outcome.OK) + kind + numEntries + field("answers", answers);
    }

    private static String answer(Index index, List<String> queries, Slice partitions) {
        StringJoiner classes = new StringJoiner("\", \"", "\"", "\"").setEmptyValue("");
        for (int i = 0; i < index.numPartitions; i++) {
            try {
                index.openPartition(i, partitions);
                classes.add(Outcome.OK.toString());
            } catch (Refusal refusal) {
                classes.add(refusal.outcome.toString());
            }
        }
        String answers = answers(queries, words -> words[0].equals("at")
            ? index.mayContainAt(fromHex(words[1]), fromHex(words[2]), partitions)
            : index.mayContain(form(words), fromHex(words[1]), second(words), partitions));
        return classField(Outcome.OK) + field("num_entries", hex(index.numEntries)) + field("answers", answers)
            + ", \"partitions\": [" + classes + "]";
    }

    private static String answers(List<String> queries, Predicate<String[]> mayContain) {
        StringBuilder letters = new StringBuilder();
        for (String query : queries) letters.append(mayContain.test(query.split(":", -1)) ? 'm' : 'n');
        return letters.toString();
    }

    private static Form form(String[] words) { return Form.valueOf(words[0].toUpperCase(Locale.ROOT)); }
    private static byte[] second(String[] words) { return words[0].equals("cell") ? fromHex(words[2]) : null; }
    private static String hex(long number) { return "0x" + Long.toHexString(number); }
    private static String field(String name, String value) { return ", \"" + name + "\": \"" + value + "\""; }
    private static String classField(Outcome outcome) { return "\"class\": \"" + outcome + "\""; }

    private static byte[] longEntry(int size) {
        if (!within(size, 0, 1 << 26)) throw new IllegalArgumentException("length of an entry");
        byte[] entry = new byte[size];
        for (int i = 0; i < size; i++) entry[i] = (byte) ((i + 1) * GOLDEN >>> 56);
        return entry;
    }

    private static long number(String text) {
        if (!text.startsWith("0x")) throw new IllegalArgumentException("number");
        return Long.parseUnsignedLong(text.substring(2), 16);
    }

    private static byte[] fromHex(String digits) {
        byte[] bytes = new byte[digits.length() / 2];
        for (int i = 0; i < digits.length(); i++) {
            int digit = Character.digit(digits.charAt(i), 16);
            if (digit < 0) throw new IllegalArgumentException("not a hexadecimal digit");
            bytes[i / 2] |= digit << (i % 2 == 0 ? 4 : 0);  // an odd number of digits fails here
        }
        return bytes;
    }
}
