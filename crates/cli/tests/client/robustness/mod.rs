//! Client programs that are interrupted, lose their server, or find no space: nothing is left behind, and no wrong result passes for a right one.

mod cases;
mod connections;
mod disks;
mod signals;
