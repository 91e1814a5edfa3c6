//! Graphs as users of the crate meet them. One binary, for linking takes longer than running.

mod aut;
mod compare;
mod expected;
mod files;
mod hlts;
mod info;
mod model;

use hadal_lts::{Edge, Error, Hlts, HltsWriter, Labels, Resources, read_aut};
use hadal_model::Stop;
use rand::RngExt;
use rand_pcg::Pcg64Mcg;

static STOP: Stop = Stop::new();

fn resources() -> Resources<'static> {
    Resources::new(&STOP)
}

fn from_aut(text: &str) -> Result<Hlts, Error> {
    read_aut(text.as_bytes(), &resources())
}

fn edges(graph: &Hlts) -> Vec<Edge> {
    let mut edges = Vec::new();
    let read = graph.for_each_edge(&resources(), |edge| {
        edges.push(edge);
        Ok(())
    });
    read.expect("the graph can be read");
    edges
}

fn labels(texts: &[&str]) -> Labels {
    let mut labels = Labels::new();
    for text in texts {
        labels.push(text.as_bytes()).expect("there are few labels");
    }
    labels
}

fn written(n_states: u64, edges: &[Edge], texts: &[&str]) -> Vec<u8> {
    let mut writer = HltsWriter::new(Vec::new(), 0, 0).expect("memory can be written");
    for &edge in edges {
        writer.push(edge).expect("edges are in order");
    }
    writer
        .finish(n_states, &labels(texts))
        .expect("all is named")
}

fn graph(n_states: u64, edges: &[Edge], texts: &[&str]) -> Hlts {
    Hlts::from_bytes(written(n_states, edges, texts)).expect("what was written can be read")
}

/// Edges in order, of a graph with `n_states` states.
fn random_edges(random: &mut Pcg64Mcg, n_states: u64, n_edges: usize, n_labels: u32) -> Vec<Edge> {
    let edge = |_| {
        Edge::new(
            random.random_range(0..n_states),
            random.random_range(0..n_labels),
            random.random_range(0..n_states),
        )
    };
    let mut edges: Vec<Edge> = (0..n_edges).map(edge).collect();
    edges.sort_by_key(|edge| edge.source);
    edges
}
