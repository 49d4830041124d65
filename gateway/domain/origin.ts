/** Who has something done, for the audit log. */
export interface Origin {
  /** Null for the gateway itself, an enrolling device and the head office. */
  readonly userId: string | null
  /** The network address of the caller; `head office` for its intents; null for the gateway itself. */
  readonly address: string | null
}

export const HEAD_OFFICE: Origin = { userId: null, address: 'head office' }
export const GATEWAY: Origin = { userId: null, address: null }
