/** What the simulated devices have done so far: the figures of the status line. */
export interface Traffic {
  sent: number
  acked: number
  /** Published without acknowledgement (QoS 0) into a connection that broke. */
  lost: number
  connects: number
  /** Connections lost or refused without our doing. */
  drops: number
}

export function noTraffic(): Traffic {
  return { sent: 0, acked: 0, lost: 0, connects: 0, drops: 0 }
}
