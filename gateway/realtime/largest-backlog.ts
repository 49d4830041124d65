interface Reader {
  readonly userId: string
  readonly unreadBytes: number
}

/** Returns the readers to close so that at most `limit` bytes are unread: the fullest one of the user with most. */
export function findExcess<Each extends Reader>(readers: Iterable<Each>, limit: number): Each[] {
  let total = 0
  for (const { unreadBytes } of readers) total += unreadBytes
  if (total <= limit) return []
  const owners = [...Map.groupBy(readers, ({ userId }) => userId).values()].map((own) => ({
    fullestLast: own.toSorted((a, b) => a.unreadBytes - b.unreadBytes),
    bytes: own.reduce((sum, { unreadBytes }) => sum + unreadBytes, 0),
  }))
  const excess: Each[] = []
  while (total > limit) {
    const largest = owners.reduce((most, each) => (each.bytes > most.bytes ? each : most))
    const fullest = largest.fullestLast.pop()
    if (fullest === undefined) break
    largest.bytes -= fullest.unreadBytes
    total -= fullest.unreadBytes
    excess.push(fullest)
  }
  return excess
}
