package operator

// Period is when the period of a device began that a time is in.
var Period = period
