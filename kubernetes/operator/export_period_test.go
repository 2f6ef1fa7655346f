package operator

// Period returns the start of the device's period that contains a time.
var Period = period
