/** Origin of an action, for the audit log. */
export interface Origin {
  /** User of the key or the session; null for the gateway itself, an enrolling device and the hub. */
  readonly userId: string | null
  /** Network address of the caller; `head office` for intents of the hub; null for the gateway itself. */
  readonly address: string | null
  /** PIN user on the tablet of this session. */
  readonly person: { readonly userId: string; readonly name: string } | null
  readonly sessionId: string | null
}

const NO_SESSION = { person: null, sessionId: null }
export const HEAD_OFFICE: Origin = { userId: null, address: 'head office', ...NO_SESSION }
export const GATEWAY: Origin = { userId: null, address: null, ...NO_SESSION }
