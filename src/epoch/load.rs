//! Reads the definition files into a [`super::Registry`], or refuses them with every problem named.
