/**
 * Returns the internal client id of a client whose ids belong to its owner: ids of two owners never collide, nor do
 * they with an id that the port declares unique. Neither an owner nor a unique client id contains a slash.
 */
export function ownClientId(owner: string, clientId: string): string {
  return `${owner}/${clientId}`
}

/** Returns the client id as the client sent it. */
export function givenClientId(clientId: string): string {
  return clientId.slice(clientId.indexOf('/') + 1)
}
