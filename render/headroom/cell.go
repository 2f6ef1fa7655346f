package headroom

// Occupancy returns how many bytes of memory one byte of a packet takes when
// memory is given out in whole cells.
func Occupancy(cell int64, packet int) float64 {
	if cell <= 0 || packet <= 0 {
		return 1
	}
	cells := (int64(packet) + cell - 1) / cell
	return float64(cells*cell) / float64(packet)
}

// worstOccupancy returns the largest Occupancy of any packet of at least
// minPacket bytes: that of the smallest one, or of the next that begins a
// new cell.
func worstOccupancy(cell int64, minPacket int) float64 {
	if cell <= 0 || minPacket <= 0 {
		return 1
	}
	next := (int64(minPacket)+cell-2)/cell*cell + 1
	return max(Occupancy(cell, minPacket), Occupancy(cell, int(next)))
}
