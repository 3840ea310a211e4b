package examples
