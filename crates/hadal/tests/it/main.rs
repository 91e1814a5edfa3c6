//! The program and its library as users meet them.
//!
//! One binary, because each one links the whole of Hadal; on their own are tests of budgets and limits,
//! and those that change the working directory.

mod budgets;
mod claims;
mod cli;
#[path = "../common/mod.rs"]
mod common;
mod corpus;
mod costs;
mod differential;
mod directed;
mod disk;
mod doc_paths;
mod generate;
mod goals;
mod graphs;
mod instances;
mod lab;
mod library;
mod lts;
mod measures;
mod murphi_doc;
mod order;
mod order_random;
mod promela;
mod promela_doc;
mod promela_words;
mod replay;
mod schema;
mod shorten;
mod steps;
mod strategies;
mod targets;
