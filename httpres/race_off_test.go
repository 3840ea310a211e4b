//go:build !race

package httpres_test

// raceDetector tells whether the tests are built with it.
const raceDetector = false
