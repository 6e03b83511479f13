/**
 * What a container waits for before it is told to end. Its endpoint leaves the Service meanwhile, which every node takes over in
 * its own time: kube-proxy once a second at most, and later where the node is busy. Who connects before that is still served.
 */
export const LEAVE_SERVICE = { preStop: { sleep: { seconds: 5 } } };
