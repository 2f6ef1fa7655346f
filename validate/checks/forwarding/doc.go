// Package forwarding checks packet trimming, load balancing and tunnels.
package forwarding
