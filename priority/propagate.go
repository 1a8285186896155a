package priority

// Header is the name under which a class travels between services by default,
// as a header of HTTP and, in lower case, a metadata key of gRPC.
const Header = "X-Request-Criticality"
