//! Writers of sets: given nothing, given twice, and two that continue one set.

use crate::lake::{self, Lake};
use datafusion::object_store::memory::InMemory;
use datafusion::object_store::path::Path;
use datafusion::object_store::{ObjectMeta, ObjectStore, ObjectStoreExt};
use datafusion::prelude::{col, lit};
use filterblock_datafusion::{FileFilter, SetWriter, WriteError};
use filterblock_set::{FilterSet, Opening, SetBuildError};
use std::sync::Arc;

/// Returns whether the file may have the number 7, by the set of one file.
async fn may_have_7(lake: &Lake, object: &ObjectMeta, mut writer: SetWriter) -> bool {
    let filter = lake.filter(lake::finished(&mut writer)).await;
    lake.may_match(&filter, col("number").eq(lit(7_i64)), std::slice::from_ref(object)).await == [0]
}

#[tokio::test]
async fn given_nothing() {
    let lake = Lake::numbers();
    let writer = || lake::writer(&lake.schema, &["number"]);
    let object = lake.put("1", &lake.batch(0, [Some(7)])).await;
    let is_empty = |error: Option<WriteError>| matches!(error, Some(WriteError::Set(SetBuildError::Empty)));
    assert!(is_empty(writer().finish(&mut Vec::new()).err()));
    let set_path = "lake.set".into();
    assert!(is_empty(writer().append_to(&*lake.store, &set_path, |_| false).await.err()));
    assert!(lake.store.head(&set_path).await.is_err(), "nothing was put");

    // Keys that no batch was added to, or none with a row; a file that was said to have no row, and one of nulls.
    let (no_row, nulls) = (lake.batch(0, [Some(7)]).slice(0, 0), lake.batch(0, [None, None]));
    let cases = [(vec![], false, 1), (vec![&no_row], false, 1), (vec![], true, 0), (vec![&nulls], false, 0)];
    for (batches, is_empty, without_filter) in cases {
        let mut writer = writer();
        let mut keys = writer.keys();
        if is_empty {
            keys.allow_empty();
        }
        batches.iter().for_each(|batch| keys.add(batch).unwrap());
        assert_eq!(writer.add_file(&object, keys).unwrap(), without_filter, "columns");
        assert_eq!(may_have_7(&lake, &object, writer).await, without_filter == 1);
    }
    // A stored file without rows, whose number of rows is known.
    let empty = lake.put("empty", &no_row).await;
    let mut stored = writer();
    assert_eq!(stored.index_file(lake.store.clone(), &empty).await.unwrap(), 0);
    assert!(!may_have_7(&lake, &empty, stored).await);
}

#[tokio::test]
async fn given_twice() {
    let lake = Lake::numbers();
    let object = lake.put("1", &lake.batch(0, [Some(7)])).await;
    let mut writer = lake::writer(&lake.schema, &["number"]);
    writer.index_file(lake.store.clone(), &object).await.unwrap();
    let again = writer.index_file(lake.store.clone(), &object).await.err();
    assert!(matches!(again, Some(WriteError::Set(SetBuildError::FileName(_)))), "{again:?}");
    lake::finished(&mut writer);
    let again = writer.finish(&mut Vec::new()).err();
    assert!(matches!(again, Some(WriteError::Set(SetBuildError::Empty))), "{again:?}");
    // Listed before it was put again.
    lake.put("1", &lake.batch(0, [Some(8)])).await;
    assert!(matches!(writer.index_file(lake.store.clone(), &object).await, Err(WriteError::Replaced(_))));
}

/// The names of the set's files, none of which is lost, each of a file with its own number.
async fn names(store: &dyn ObjectStore, path: &Path) -> Vec<String> {
    let bytes = store.get(path).await.unwrap().bytes().await.unwrap();
    let Opening::Ready(set) = FilterSet::open(bytes.len() as u64, &bytes, None).unwrap() else { panic!("all bytes") };
    assert_eq!(set.foreign_append(), None);
    let mut names: Vec<_> = set.files().map(|(name, _)| String::from_utf8(name.to_vec()).unwrap()).collect();
    names.sort_unstable();
    names
}

/// Eight writers continue one set at once, one file each; and once more, with other contents of the same files.
pub async fn continue_at_once(store: Arc<dyn ObjectStore>, path: &Path) {
    const WRITERS: i64 = 8;
    let lake = Lake::numbers();
    for round in 0..2 {
        let mut objects = Vec::new();
        let mut tasks = Vec::new();
        for file in 0..WRITERS {
            let object = lake::object(&format!("data/{file}"), &format!("{round}"));
            let mut writer = lake::writer(&lake.schema, &["number"]);
            let mut keys = writer.keys();
            keys.add(&lake.batch(0, [Some(10 * file + round)])).unwrap();
            writer.add_file(&object, keys).unwrap();
            objects.push(object);
            let (store, path) = (store.clone(), path.clone());
            tasks.push(tokio::spawn(async move { writer.append_to(&*store, &path, |_| false).await }));
        }
        for task in tasks {
            task.await.unwrap().unwrap();
        }
        assert_eq!(names(&*store, path).await, (0..WRITERS).map(|file| format!("data/{file}")).collect::<Vec<_>>());
        let filter = FileFilter::new(store.clone(), path.clone());
        for file in 0..WRITERS {
            let filters = [col("number").eq(lit(10 * file + round))];
            let may_match = filter.may_match(&lake.schema, &filters, &objects.iter().collect::<Vec<_>>()).await;
            assert!(may_match.iter().eq([file as usize]), "{file} of round {round}");
        }
    }
    println!("counted: {WRITERS} writers continued one set at once, twice; no file lost");
}

#[tokio::test(flavor = "multi_thread")]
async fn writers_continue_one_set_at_once() {
    continue_at_once(Arc::new(InMemory::new()), &"lake.set".into()).await;
}

/// The same in a bucket of a server: `integrations/datafusion/run` names it.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a server of buckets; see run"]
async fn writers_continue_one_set_in_a_bucket() {
    let bucket = std::env::var("FILTERBLOCK_BUCKET").expect("the bucket's name");
    let store = object_store::aws::AmazonS3Builder::from_env().with_bucket_name(bucket).build().unwrap();
    continue_at_once(Arc::new(store), &"continued.set".into()).await;
}

/// What the writer was to append stays in it if the set cannot be continued.
#[tokio::test]
async fn a_writer_keeps_its_files_after_an_error() {
    let lake = Lake::numbers();
    let object = lake.put("1", &lake.batch(0, [Some(7)])).await;
    let path = "lake.set".into();
    lake.store.put(&path, b"no set"[..].into()).await.unwrap();
    let mut writer = lake::writer(&lake.schema, &["number"]);
    writer.index_file(lake.store.clone(), &object).await.unwrap();
    let error = writer.append_to(&*lake.store, &path, |_| false).await.err();
    assert!(matches!(error, Some(WriteError::Set(SetBuildError::Decode(_)))), "{error:?}");
    assert_eq!(writer.builder().num_files(), 1);
    lake.store.delete(&path).await.unwrap();
    writer.append_to(&*lake.store, &path, |_| false).await.unwrap();
    assert_eq!(names(&*lake.store, &path).await, ["data/1.parquet"]);
}
