/** Fields of a run configuration that are accepted without effect: maps the path to the reason. The reference prints them. */
export const RECORDED_ONLY: Readonly<Record<string, string>> = {
  'session_storage.redis.require_replica_ack':
    'sessions are kept without waiting for a replica; condition ReplicaAckIgnored warns of it',
};
