// Package deadlock finds everything that PFC can bring to a stop: cycles of buffers that wait
// for each other, and the ports that a NIC reaches by pausing forever.
//
// A node of the buffer dependency graph is the priority group of a lossless class at an ingress
// port. A node has an edge to the next one if some packet in the first leaves by the link that
// the second can pause: the first cannot drain while the second is full. A deadlock needs a
// cycle; a fabric without one cannot deadlock (Hu et al., "Deadlocks in Datacenter Networks",
// HotNets 2016; Dally and Seitz, IEEE ToC C-36, 1987, for networks in general). If a packet
// changes class on its way, by a tunnel or by a remap of bounced traffic (Tagger, CoNEXT 2017;
// SONiC dual-ToR), the edge includes the change.
//
// Routes come from a model: valley-free as in a Clos fabric whose spines share an AS number
// (RFC 7938, 5.2.2), or all shortest paths, with the exceptions and tunnels that the intent
// declares. The analysis covers each failure of one link, of one switch, and of a link to a
// host on a leaf that follows a default route, with the routes that follow once they have
// settled. It does not cover loops while routes converge, nor loops of flooding.
//
// Routes and turns are computed for one destination of each family that the symmetry of the
// fabric maps onto each other. In a Clos fabric one family has nearly all destinations, so the
// work grows with the links, not with links times destinations. A search under failures, which
// exceptions and shortest paths need, computes all routes. If traffic only goes up and then
// down, a proof replaces the search, and turns are not computed.
//
// [New] computes routes and dependencies, [Of] only what a search needs. [Analysis.Run]
// searches; [Analysis.BlastRadius], [Analysis.Paths] and [Analysis.Islands] answer the other
// questions. Results are plain values; package validate turns them into findings.
package deadlock
