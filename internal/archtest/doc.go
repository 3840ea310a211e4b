// Package archtest holds tests of the project's architecture: what may import what, how large files grow, that every module
// builds alone. Their failures say how to mend.
package archtest
