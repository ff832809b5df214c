

mod report;
mod write;
