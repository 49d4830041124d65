/** Limit of a topic filter in a subscription, in characters. */
export const TOPIC_FILTER_MAX = 256

/** True if a topic filter, with its wildcards, matches a topic. Source: MQTT 3.1.1, 4.7. */
export function matchesTopic(filter: string, topic: string): boolean {
  if (filter === topic) return true
  // a filter that begins with a wildcard does not match the broker's own topics [MQTT-4.7.2-1]
  if (topic.startsWith('$') && !filter.startsWith('$')) return false
  const levels = filter.split('/')
  const topicLevels = topic.split('/')
  for (const [i, level] of levels.entries()) {
    if (level === '#') return true
    if (i >= topicLevels.length || (level !== '+' && level !== topicLevels[i])) return false
  }
  return levels.length === topicLevels.length
}

export function hasWildcard(filter: string): boolean {
  return filter.includes('+') || filter.includes('#')
}

/** True for a valid topic of a message: not empty, no wildcard [MQTT-3.3.2-2] [MQTT-4.7.3-1]. */
export function isTopicName(topic: string): boolean {
  return topic !== '' && !hasWildcard(topic)
}

/**
 * True if a topic filter is well-formed: not empty, # only as the last level, + and # only as a whole level
 * [MQTT-4.7.1-2] [MQTT-4.7.1-3] [MQTT-4.7.3-1].
 */
export function isTopicFilter(filter: string): boolean {
  const levels = filter.split('/')
  return (
    filter !== '' &&
    levels.every((level, i) => {
      if (level === '#') return i === levels.length - 1
      return level === '+' || !hasWildcard(level)
    })
  )
}
