// Package deadlock finds what PFC can bring to a stop: circles of buffers that
// wait for one another, and everything that a NIC which never stops pausing
// reaches.
//
// A node of the buffer dependency graph is the priority group of a lossless
// class at an ingress port. It has an edge to the next one where some packet
// in the first leaves by the link that the second can pause: then the first
// cannot drain while the second is full. A circle is necessary for a deadlock;
// a fabric without one cannot have any (Hu et al., "Deadlocks in Datacenter
// Networks", HotNets 2016; Dally and Seitz, IEEE ToC C-36, 1987, for networks
// in general). A change of class on the way, by a tunnel or by a remap of what
// bounces (Tagger, CoNEXT 2017; SONiC dual-ToR), is part of the edge.
//
// Routes come from a model: valley-free as in a Clos fabric whose spines share
// an AS number (RFC 7938, 5.2.2), or every shortest path, with the exceptions
// and tunnels that the intent declares. Each failure of one link and of one
// switch, and of a link to a host where a leaf follows a default route, is looked at
// with the routes that follow it, once they have settled: loops that live while routes
// converge are not seen, nor are those of flooding.
//
// Routes and turns are computed for one destination of those that the symmetry of
// the fabric makes of each other, which are nearly all of a Clos: the work grows with
// the links, and not with links times destinations. A search under failures, which
// exceptions and shortest paths need, computes all routes. Where traffic only goes up and
// then down, a proof takes the place of the search, and turns are not computed.
//
// [New] computes routes and dependencies, [Of] only what a search needs, [Analysis.Run]
// searches, [Analysis.BlastRadius], [Analysis.Paths] and [Analysis.Islands] answer the
// other questions. Results are values; to make findings of them is the part of package
// validate.
package deadlock
