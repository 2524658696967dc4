//! Ensembles: every ensemble that the console watches, the worst first.

use std::sync::LazyLock;

use serde::Serialize;

use crate::tui::app::ensembles::OpenWith;
use crate::tui::app::list::{ListOrder, ListScreen, Sorting, to_json};
use crate::tui::app::{
    App, EnsembleListId, EnsembleOrder, EnsembleRow, Filter, ListedRow, Rows, Screen, WatchedEnsembles,
};
use crate::tui::screen::Column;
use lockscope_model::report::SCHEMA;
use lockscope_model::summary::EnsembleFacts;

pub struct Ensembles;

impl ListOrder for EnsembleOrder {
    type Column = EnsembleColumn;
    const TABLE: &'static [(Self, &'static str, EnsembleColumn)] = &[
        (Self::Worst, "worst", EnsembleColumn::Worst),
        (Self::New, "new", EnsembleColumn::New),
        (Self::Longest, "longest", EnsembleColumn::Longest),
        (Self::Cost, "cost", EnsembleColumn::Cost),
        (Self::Findings, "findings", EnsembleColumn::Findings),
        (Self::Contenders, "contenders", EnsembleColumn::Contenders),
        (Self::Locks, "locks", EnsembleColumn::Locks),
        (Self::Changes, "changes", EnsembleColumn::Changes),
        (Self::State, "state", EnsembleColumn::State),
        (Self::Ensemble, "ensemble", EnsembleColumn::Ensemble),
    ];
    const POINTS_DOWN: bool = true;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EnsembleColumn {
    Ensemble,
    State,
    Servers,
    Locks,
    Contenders,
    Longest,
    Cost,
    Findings,
    New,
    Changes,
    Worst,
}

const COLUMNS: &[Column<EnsembleColumn>] = &[
    Column::text(EnsembleColumn::Ensemble, "ENSEMBLE", 12, 28, 0),
    Column::text(EnsembleColumn::State, "STATE", 15, 15, 0),
    Column::number(EnsembleColumn::Servers, "SERVERS", 7, 7),
    Column::number(EnsembleColumn::Locks, "LOCKS", 6, 4),
    Column::number(EnsembleColumn::Contenders, "CONT", 6, 6).named("contenders"),
    Column::number(EnsembleColumn::Longest, "LONGEST", 7, 2),
    Column::number(EnsembleColumn::Cost, "COST", 6, 8),
    Column::text(EnsembleColumn::Findings, "FINDINGS", 9, 14, 1),
    Column::number(EnsembleColumn::New, "NEW", 4, 3),
    Column::number(EnsembleColumn::Changes, "CH/s", 6, 5).named("changes"),
    Column::text(EnsembleColumn::Worst, "WORST", 26, 80, 0),
];

/// What is exported.
#[derive(Serialize)]
struct EnsemblesExport<'a> {
    schema: u32,
    ensembles: Vec<EnsembleFacts<'a>>,
}

/// The rows of a console that shows one ensemble.
static NONE: LazyLock<WatchedEnsembles> = LazyLock::new(WatchedEnsembles::default);

fn watched(app: &App) -> &WatchedEnsembles {
    app.ensembles().unwrap_or(&NONE)
}

impl ListScreen<App> for Ensembles {
    type Id = EnsembleListId;
    type Row<'a> = ListedRow<'a>;
    type Order = EnsembleOrder;
    type Column = EnsembleColumn;

    fn columns(&self) -> &'static [Column<EnsembleColumn>] {
        COLUMNS
    }

    fn chosen<'a>(&self, app: &'a App) -> Option<&'a [String]> {
        app.chosen_columns(Screen::Ensembles)
    }

    fn rows<'a>(&self, app: &'a App) -> impl Rows<EnsembleListId> + 'a {
        watched(app)
    }

    fn row<'a>(&self, app: &'a App, rank: usize) -> Option<ListedRow<'a>> {
        watched(app).listed(rank)
    }

    cursor_in!(ensembles: EnsembleListId);

    fn copied(&self, _: &App, row: ListedRow<'_>) -> Option<String> {
        Some(match row {
            ListedRow::Ensemble(row) => row.connect.clone(),
            ListedRow::Place(_, place) => place.path().to_string(),
        })
    }

    /// Goes into the selected ensemble, or to the place that was found there.
    fn open(&self, app: &mut App) {
        let selected = self.cursor(app).selected(watched(app));
        match (selected, app.ensembles.as_deref_mut()) {
            (Some(EnsembleListId { ensemble, place: Some(place) }), Some(ensembles)) => {
                ensembles.want_with(ensemble, Some(OpenWith::Lock(place.to_string())));
            }
            (Some(EnsembleListId { ensemble, .. }), Some(ensembles)) => ensembles.want(ensemble),
            _ => app.show_hint("There is no ensemble to open.".to_owned()),
        }
    }

    fn filter<'a>(&self, app: &'a App) -> Option<&'a Filter> {
        Some(watched(app).filter())
    }

    fn set_filter(&self, app: &mut App, filter: Filter) {
        if let Some(ensembles) = app.ensembles.as_deref_mut() {
            ensembles.set_filter(filter);
        }
    }

    fn order(&self, app: &App) -> Option<Sorting<EnsembleOrder>> {
        Some(watched(app).sorting())
    }

    fn sort(&self, app: &mut App, sorting: Sorting<EnsembleOrder>) {
        if let Some(ensembles) = app.ensembles.as_deref_mut() {
            ensembles.sort(sorting);
        }
    }

    fn exported(&self, app: &App) -> Result<String, String> {
        to_json(&EnsemblesExport { schema: SCHEMA, ensembles: watched(app).shown().map(EnsembleRow::facts).collect() })
    }
}
