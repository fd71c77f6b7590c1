//! A table whose files are left out of the plan where a set denies what a query looks for.

use crate::doubt::Counts;
use crate::filter::{FileFilter, Question};
use crate::late::LateSource;
use async_trait::async_trait;
use datafusion::arrow::datatypes::{Schema, SchemaRef};
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::{Constraints, Result};
use datafusion::datasource::listing::ListingTable;
use datafusion::datasource::physical_plan::{FileGroup, FileScanConfig, FileScanConfigBuilder, ParquetSource};
use datafusion::datasource::source::DataSourceExec;
use datafusion::execution::session_state::SessionState;
use datafusion::logical_expr::dml::InsertOp;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::metrics::{MetricBuilder, MetricType};
use std::sync::Arc;

/// A [`ListingTable`] and the set of its files. It plans as that table does, without the files in which the set denies
/// what the query's filters require; DataFusion checks all rows of the others.
///
/// A query that uses the set is planned without the files' statistics, as DataFusion opens every file to collect them.
/// `EXPLAIN ANALYZE` shows its [`Counts`] among the metrics of the scan.
///
/// Filters that a join makes while it runs ask the set once they are complete, before each file is opened, if the join
/// states its keys as a list (`optimizer.hash_join_inlist_pushdown_max_distinct_values`).
///
/// A table that was configured with an `expr_adapter_factory`, which may make other values of those in the files, is read
/// as a whole.
#[derive(Debug)]
pub struct FilteredTable {
    table: ListingTable,
    /// The columns that are stored in the files.
    stored: SchemaRef,
    filter: Arc<FileFilter>,
    is_plain: bool,
}

impl FilteredTable {
    /// Returns `table`, skipping files by `filter`.
    pub fn new(table: ListingTable, filter: Arc<FileFilter>) -> Self {
        let is_stored = |name: &str| table.options().table_partition_cols.iter().all(|(column, _)| column != name);
        let schema = table.schema();
        let stored = schema.fields().iter().filter(|field| is_stored(field.name())).cloned().collect::<Vec<_>>();
        Self { stored: Arc::new(Schema::new(stored)), table, filter, is_plain: false }
    }

    /// Leaves scans as DataFusion makes them, as a plan has to have them that is sent to other machines: filters that it
    /// makes while it runs, such as those of joins, do not ask the set.
    #[must_use]
    pub fn with_plain_scans(mut self) -> Self {
        self.is_plain = true;
        self
    }

    /// Lets filters that the plan makes while it runs ask the set.
    fn ask_late(&self, plan: Arc<dyn ExecutionPlan>) -> Arc<dyn ExecutionPlan> {
        let is_asked = |config: &&FileScanConfig| !self.is_plain && config.file_source.is::<ParquetSource>();
        let Some(config) = scan_of(&plan).filter(is_asked) else {
            return plan;
        };
        let (filter, stored) = (self.filter.clone(), self.stored.clone());
        let source = LateSource { inner: config.file_source.clone(), filter, stored };
        DataSourceExec::from_data_source(
            FileScanConfigBuilder::from(config.clone()).with_source(Arc::new(source)).build(),
        )
    }

    /// Returns the plan without the files that the set denies.
    async fn skip(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        question: &Question,
        counts: &mut Counts,
    ) -> Arc<dyn ExecutionPlan> {
        // None: a table without files.
        let Some(config) = scan_of(&plan) else {
            return plan;
        };
        // A default in place of null, say: the set has the values of the files.
        if config.expr_adapter_factory.is_some() {
            self.filter.doubt_adapter();
            return plan;
        }
        let files: Vec<_> = config.file_groups.iter().flat_map(FileGroup::iter).map(|file| &file.object_meta).collect();
        let (keep, mut place) = (self.filter.answer(question, &files, counts).await, 0..);
        // The number of groups stays, as the plan may state a partitioning by them.
        let of_group = |group: &FileGroup| {
            let kept =
                group.iter().filter(|_| place.next().is_none_or(|place| keep.contains(place))).cloned().collect();
            FileGroup::new(kept)
        };
        let groups = config.file_groups.iter().map(of_group).collect();
        let statistics = config.statistics().to_inexact();
        let config = FileScanConfigBuilder::from(config.clone()).with_file_groups(groups).with_statistics(statistics);
        DataSourceExec::from_data_source(config.build())
    }
}

fn scan_of(plan: &Arc<dyn ExecutionPlan>) -> Option<&FileScanConfig> {
    plan.downcast_ref::<DataSourceExec>().and_then(|scan| scan.data_source().downcast_ref::<FileScanConfig>())
}

/// Adds the set's counts to the metrics of the scan, which `EXPLAIN ANALYZE` shows.
fn report(plan: &Arc<dyn ExecutionPlan>, counts: &Counts) {
    if let Some(config) = scan_of(plan) {
        for (name, count) in counts.named() {
            let metric = MetricBuilder::new(config.file_source.metrics()).with_type(MetricType::Summary);
            metric.global_counter(name).add(count as usize);
        }
    }
}

#[async_trait]
impl TableProvider for FilteredTable {
    fn schema(&self) -> SchemaRef {
        self.table.schema()
    }

    fn constraints(&self) -> Option<&Constraints> {
        self.table.constraints()
    }

    fn table_type(&self) -> TableType {
        self.table.table_type()
    }

    fn get_table_definition(&self) -> Option<&str> {
        self.table.get_table_definition()
    }

    fn get_column_default(&self, column: &str) -> Option<&Expr> {
        self.table.get_column_default(column)
    }

    async fn scan(
        &self,
        session: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let counts = &mut Counts::default();
        let Some(question) = self.filter.ask(&self.stored, filters, counts).await else {
            let plan = self.table.scan(session, projection, filters, limit).await?;
            if !filters.is_empty() {
                report(&plan, counts);
            }
            return Ok(self.ask_late(plan));
        };
        let without_statistics = session.as_any().downcast_ref::<SessionState>().map(|state| {
            let mut state = state.clone();
            state.config_mut().options_mut().execution.collect_statistics = false;
            state
        });
        let session = without_statistics.as_ref().map_or(session, |state| state as &dyn Session);
        let plan = self.table.scan(session, projection, filters, limit).await?;
        let plan = self.skip(plan, &question, counts).await;
        report(&plan, counts);
        Ok(self.ask_late(plan))
    }

    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> Result<Vec<TableProviderFilterPushDown>> {
        // Inexact, or exact for what the names of directories decide.
        self.table.supports_filters_pushdown(filters)
    }

    async fn insert_into(
        &self,
        session: &dyn Session,
        input: Arc<dyn ExecutionPlan>,
        insert: InsertOp,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.table.insert_into(session, input, insert).await
    }
}
