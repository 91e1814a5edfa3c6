//! What the engine passes on to sinks.

use super::Engine;
use crate::Error;
use crate::rank::Rank;
use crate::sink::EdgesWanted;
use crate::storage::Storage;

impl Engine<'_, '_> {
    /// Passes on the survivors of the ready tasks, which have this rank, and indexes their ordinals
    /// where those are needed.
    pub(super) fn send_survivors(&mut self, rank: Rank) -> Result<(), Error> {
        if !self.sink.is_present() {
            return Ok(());
        }
        for task in self.window.ready() {
            if let Storage::Resident(resident) = &mut self.storage
                && let Some(ordinals) = &mut resident.ordinals
            {
                ordinals.append(task.survivor_states());
            }
            self.sink.send_survivors(rank, task)?;
        }
        Ok(())
    }

    /// Passes on the edges of the ready tasks.
    pub(super) fn send_edges(&mut self) -> Result<(), Error> {
        if self.sink.wants_edges() == EdgesWanted::None {
            return Ok(());
        }
        let keys = self.context.keys;
        if let Some(graph) = &mut self.graph {
            let folder = self.context.folder;
            return graph.append(
                self.window.ready(),
                keys,
                self.pool,
                folder,
                self.context.budget,
            );
        }
        let index = match &self.storage {
            Storage::Resident(resident) => resident.ordinals.as_ref(),
            Storage::External(_) => None,
        };
        let Some(index) = index else {
            let mut tasks = self.window.ready().iter();
            return tasks.try_for_each(|task| self.sink.send_edges(task, None, keys));
        };
        let mut tasks: Vec<_> = (self.window.ready().iter())
            .map(|task| (task, Vec::new()))
            .collect();
        self.pool.each(tasks.iter_mut(), |(task, ordinals), _| {
            let states = task.kernel.successors.states();
            let ordinal = |state| index.find(state).expect("every successor is stored");
            ordinals.extend(states.iter().map(ordinal));
        });
        let mut tasks = tasks.into_iter();
        tasks.try_for_each(|(task, ordinals)| self.sink.send_edges(task, Some(&ordinals), keys))
    }
}
