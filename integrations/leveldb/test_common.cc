#include "test.h"

#include <cstring>
#include <filesystem>

namespace fs = std::filesystem;

namespace {

class CountingFile : public leveldb::RandomAccessFile {
  public:
    CountingFile(leveldb::RandomAccessFile *file, std::atomic<unsigned long> &reads) : file(file), reads(reads) {}
    leveldb::Status Read(uint64_t offset, size_t n, leveldb::Slice *result, char *scratch) const override
    {
        reads++;
        return file->Read(offset, n, result, scratch);
    }

  private:
    std::unique_ptr<leveldb::RandomAccessFile> file;
    std::atomic<unsigned long> &reads;
};

/// As the C API has it, which has no function that makes one of an Env.
struct EnvHandle {
    leveldb::Env *env;
    bool is_default;
};

void must(char *error)
{
    if (error)
        std::fprintf(stderr, "LevelDB: %s\n", error);
    CHECK(!error);
}

struct Scratch {
    fs::path path;
    Scratch()
    {
        std::string name = (fs::temp_directory_path() / "filterblock-leveldb-XXXXXX").string();
        CHECK(mkdtemp(name.data()));
        path = name;
    }
    ~Scratch() { fs::remove_all(path); }
};

} // namespace

leveldb::Status CountingEnv::NewRandomAccessFile(const std::string &name, leveldb::RandomAccessFile **file)
{
    leveldb::Status status = EnvWrapper::NewRandomAccessFile(name, file);
    if (status.ok())
        *file = new CountingFile(*file, reads);
    return status;
}

Policy policy_of(const std::string &text)
{
    filterblock_error error;
    Policy policy(filterblock_leveldb_new(text.c_str(), &error), filterblock_leveldb_free);
    if (!policy)
        std::fprintf(stderr, "%s: %s\n", text.c_str(), error.message);
    CHECK(policy);
    return policy;
}

Database::Database(const std::string &directory, filterblock_leveldb *policy, Verify verify)
    : options(leveldb_options_create()), read(leveldb_readoptions_create()), write(leveldb_writeoptions_create()),
      cache(leveldb_cache_create_lru(0)), env_handle(new char[sizeof(EnvHandle)])
{
    EnvHandle handle{&env, true};
    std::memcpy(env_handle.get(), &handle, sizeof handle);
    leveldb_options_set_env(options, reinterpret_cast<leveldb_env_t *>(env_handle.get()));
    leveldb_options_set_create_if_missing(options, 1);
    leveldb_options_set_compression(options, leveldb_no_compression);
    // Every data block is read when it is needed.
    leveldb_options_set_cache(options, cache);
    if (policy)
        filterblock_leveldb_use(policy, options);
    if (verify == UNVERIFIED)
        leveldb_options_set_paranoid_checks(options, 0);
    char *error = nullptr;
    db = leveldb_open(options, directory.c_str(), &error);
    must(error);
}

Database::~Database()
{
    leveldb_close(db);
    leveldb_options_destroy(options);
    leveldb_readoptions_destroy(read);
    leveldb_writeoptions_destroy(write);
    leveldb_cache_destroy(cache);
}

void Database::put(const std::string &key, const std::string &value)
{
    char *error = nullptr;
    leveldb_put(db, write, key.data(), key.size(), value.data(), value.size(), &error);
    must(error);
}

void Database::erase(const std::string &key)
{
    char *error = nullptr;
    leveldb_delete(db, write, key.data(), key.size(), &error);
    must(error);
}

bool Database::has(const std::string &key) const
{
    char *error = nullptr;
    size_t len = 0;
    char *value = leveldb_get(db, read, key.data(), key.size(), &len, &error);
    must(error);
    if (!value)
        return false;
    CHECK(std::string(value, len) == value_of(key));
    leveldb_free(value);
    return true;
}

void Database::compact()
{
    leveldb_compact_range(db, nullptr, 0, nullptr, 0);
}

std::string key_of(unsigned long number)
{
    char key[32];
    std::snprintf(key, sizeof key, "user%012lu", number);
    return key;
}

std::string value_of(const std::string &key)
{
    return "what is stored of " + key + ", and some more of it, as a row would have";
}

void fill(Database &database, unsigned long num_keys)
{
    for (unsigned long i = 0; i < num_keys; i++) {
        // In no order: every table of level 0 has the whole range.
        std::string key = key_of(i * 7919 % num_keys * 2);
        database.put(key, value_of(key));
    }
}

std::string scratch(const std::string &name)
{
    static Scratch directory;
    return (directory.path / name).string();
}
