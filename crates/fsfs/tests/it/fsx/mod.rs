//! FSX, against repositories of Subversion's tools.

mod compare;
mod damage;
mod expected;
mod known_faults;
mod locks;
mod packing;
mod random;
mod repository;
mod torture;
mod transactions;
