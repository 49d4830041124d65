/**
 * The client id under which the broker keeps a client whose ids are its owner's own: those of two owners never meet,
 * and none is one that the port calls unique. Neither an owner nor a unique client id has a slash.
 */
export function ownClientId(owner: string, clientId: string): string {
  return `${owner}/${clientId}`
}

/** The client id as the client gave it. */
export function givenClientId(clientId: string): string {
  return clientId.slice(clientId.indexOf('/') + 1)
}
