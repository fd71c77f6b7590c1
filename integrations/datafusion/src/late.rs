//! Filters that a plan makes while it runs, such as those of joins: the set is asked before a file is opened.

use crate::doubt::Counts;
use crate::filter::FileFilter;
use crate::identity;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::{FileOpener, FileScanConfig, FileSource};
use datafusion::datasource::table_schema::TableSchema;
use datafusion::object_store::{ObjectMeta, ObjectStore};
use datafusion::physical_expr::expressions::DynamicFilterTracking;
use datafusion::physical_expr::projection::ProjectionExprs;
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr, PhysicalSortExpr};
use datafusion::physical_plan::filter_pushdown::FilterPushdownPropagation;
use datafusion::physical_plan::metrics::{Count, ExecutionPlanMetricsSet, MetricBuilder};
use datafusion::physical_plan::{DisplayFormatType, SortOrderPushdownResult};
use datafusion_datasource::morsel::{MorselPlan, MorselPlanner, Morselizer};
use futures::lock::Mutex;
use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

/// A source of Parquet files that leaves out those which the set denies to filters that no plan had.
#[derive(Clone)]
pub(crate) struct LateSource {
    pub(crate) inner: Arc<dyn FileSource>,
    pub(crate) filter: Arc<FileFilter>,
    /// The columns that are stored in the files.
    pub(crate) stored: SchemaRef,
}

impl LateSource {
    fn around(&self, inner: Arc<dyn FileSource>) -> Arc<dyn FileSource> {
        Arc::new(Self { inner, ..self.clone() })
    }
}

impl FileSource for LateSource {
    fn create_file_opener(
        &self,
        store: Arc<dyn ObjectStore>,
        config: &FileScanConfig,
        partition: usize,
    ) -> Result<Arc<dyn FileOpener>> {
        self.inner.create_file_opener(store, config, partition)
    }

    fn create_morselizer(
        &self,
        store: Arc<dyn ObjectStore>,
        config: &FileScanConfig,
        partition: usize,
    ) -> Result<Box<dyn Morselizer>> {
        let inner = self.inner.create_morselizer(store, config, partition)?;
        let is_late = |predicate: &Arc<_>| DynamicFilterTracking::classify(predicate).contains_dynamic_filter();
        // An adapter may make other values of those in the files.
        let Some(predicate) = self.filter().filter(is_late).filter(|_| config.expr_adapter_factory.is_none()) else {
            return Ok(inner);
        };
        let files = config.file_groups.iter().flat_map(|group| group.iter());
        let (files, denied) = (files.map(|file| file.object_meta.clone()).collect(), Mutex::default());
        let skipped = MetricBuilder::new(self.metrics()).global_counter("set_files_skipped");
        let question = Arc::new(LateQuestion { source: self.clone(), predicate, files, denied, skipped });
        Ok(Box::new(LateMorselizer { inner: inner.into(), question }))
    }

    fn table_schema(&self) -> &TableSchema {
        self.inner.table_schema()
    }

    fn with_batch_size(&self, batch_size: usize) -> Arc<dyn FileSource> {
        self.around(self.inner.with_batch_size(batch_size))
    }

    fn filter(&self) -> Option<Arc<dyn PhysicalExpr>> {
        self.inner.filter()
    }

    fn projection(&self) -> Option<&ProjectionExprs> {
        self.inner.projection()
    }

    fn metrics(&self) -> &ExecutionPlanMetricsSet {
        self.inner.metrics()
    }

    fn file_type(&self) -> &str {
        self.inner.file_type()
    }

    fn fmt_extra(&self, format: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt_extra(format, f)
    }

    // How files are repartitioned is the default, as it is for Parquet.

    fn try_pushdown_filters(
        &self,
        filters: Vec<Arc<dyn PhysicalExpr>>,
        options: &ConfigOptions,
    ) -> Result<FilterPushdownPropagation<Arc<dyn FileSource>>> {
        let pushed = self.inner.try_pushdown_filters(filters, options)?;
        let updated_node = pushed.updated_node.map(|inner| self.around(inner));
        Ok(FilterPushdownPropagation { filters: pushed.filters, updated_node })
    }

    fn try_pushdown_sort(
        &self,
        order: &[PhysicalSortExpr],
        properties: &EquivalenceProperties,
    ) -> Result<SortOrderPushdownResult<Arc<dyn FileSource>>> {
        Ok(self.inner.try_pushdown_sort(order, properties)?.map(|inner| self.around(inner)))
    }

    fn reorder_files(&self, files: Vec<PartitionedFile>) -> Vec<PartitionedFile> {
        self.inner.reorder_files(files)
    }

    fn try_pushdown_projection(&self, projection: &ProjectionExprs) -> Result<Option<Arc<dyn FileSource>>> {
        Ok(self.inner.try_pushdown_projection(projection)?.map(|inner| self.around(inner)))
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        self.inner.apply_expressions(f)
    }
}

/// What a partition of a scan asks once, when all filters of the plan are complete.
struct LateQuestion {
    source: LateSource,
    predicate: Arc<dyn PhysicalExpr>,
    /// Those of all partitions, which may take each other's.
    files: Vec<ObjectMeta>,
    /// The identities of the files that the set denies, once it was asked.
    denied: Mutex<Option<HashSet<u64>>>,
    skipped: Count,
}

impl LateQuestion {
    /// Returns whether the set denies the file. Until the filters are complete, and can never widen, it denies none.
    async fn denies(&self, file: &ObjectMeta) -> bool {
        let Some(identity) = identity(file) else { return false };
        let denied = &mut *self.denied.lock().await;
        if denied.is_none()
            && matches!(DynamicFilterTracking::classify(&self.predicate), DynamicFilterTracking::AllComplete)
        {
            *denied = Some(self.ask().await);
        }
        let is_denied = denied.as_ref().is_some_and(|denied| denied.contains(&identity));
        if is_denied {
            self.skipped.add(1);
        }
        is_denied
    }

    async fn ask(&self) -> HashSet<u64> {
        let LateSource { filter, stored, .. } = &self.source;
        let (mut counts, files) = (Counts::default(), self.files.iter().collect::<Vec<_>>());
        let Some(question) = filter.ask_late(stored, &self.predicate, &mut counts).await else {
            return HashSet::new();
        };
        let keep = filter.answer(&question, &files, &mut counts).await;
        for (name, count) in
            [("set_requests", counts.requests), ("set_bytes", counts.bytes), ("set_errors", counts.errors)]
        {
            MetricBuilder::new(self.source.metrics()).global_counter(name).add(count as usize);
        }
        let denied = (0..files.len()).filter(|&file| !keep.contains(file));
        denied.filter_map(|file| identity(files[file])).collect()
    }
}

struct LateMorselizer {
    inner: Arc<dyn Morselizer>,
    question: Arc<LateQuestion>,
}

impl fmt::Debug for LateMorselizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

impl Morselizer for LateMorselizer {
    fn plan_file(&self, file: PartitionedFile) -> Result<Box<dyn MorselPlanner>> {
        let (inner, question) = (self.inner.clone(), self.question.clone());
        let planner = async move {
            if question.denies(&file.object_meta).await {
                Ok(Box::new(Planner(None)) as _)
            } else {
                inner.plan_file(file)
            }
        };
        Ok(Box::new(Planner(Some(MorselPlan::new().with_pending_planner(planner)))))
    }
}

/// A plan that there is already, or none: then nothing of the file is read.
struct Planner(Option<MorselPlan>);

impl fmt::Debug for Planner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Planner").finish_non_exhaustive()
    }
}

impl MorselPlanner for Planner {
    fn plan(self: Box<Self>) -> Result<Option<MorselPlan>> {
        Ok(self.0)
    }
}
