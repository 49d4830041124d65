/** Ids that requests of tests find, by the word before them in a path. */
export const EXISTING: Readonly<Record<string, string>> = {
  devices: 'cart-1',
  clients: 'cart-1',
  trips: 'cart-1',
  groups: '1',
  geofences: '1',
}
