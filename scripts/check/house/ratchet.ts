import type { Finding } from './rules.ts'

/** Findings of each rule by scope, as ratchet.json has them. */
export type Counts = Record<string, Record<string, number>>

export function countFindings(findings: readonly Finding[]): Counts {
  return grouped(
    findings,
    ({ rule }) => rule,
    (ofRule) =>
      grouped(
        ofRule,
        ({ scope }) => scope,
        (places) => places.length,
      ),
  )
}

function grouped<T>(
  findings: readonly Finding[],
  keyOf: (finding: Finding) => string,
  summarise: (group: Finding[]) => T,
): Record<string, T> {
  const groups = [...Map.groupBy(findings, keyOf)].sort(([one], [other]) => (one < other ? -1 : 1))
  return Object.fromEntries(groups.map(([key, group]) => [key, summarise(group)]))
}

/** Differences from the ratchet, one line each: places of what has risen, and what has fallen. */
export function differences(findings: readonly Finding[], ratchet: Counts): string[] {
  const counts = countFindings(findings)
  return keysOf(counts, ratchet).flatMap(([rule, scope]) => {
    const now = counts[rule]?.[scope] ?? 0
    const most = ratchet[rule]?.[scope] ?? 0
    const title = `${scope}: ${rule}: ${now}, at most ${most}`
    if (now < most) return [`${title}: write it down by npm run check -- --ratchet`]
    if (now === most) return []
    const places = findings.filter((one) => one.rule === rule && one.scope === scope)
    return [title, ...places.map(({ path, line }) => `  ${path}:${line}`)]
  })
}

/** Rules with more findings in all than the ratchet has. A move to another folder is not a rise. */
export function risenRules(findings: readonly Finding[], ratchet: Counts): string[] {
  const counts = countFindings(findings)
  return Object.keys(counts).filter((rule) => sumOf(counts[rule]) > sumOf(ratchet[rule]))
}

const sumOf = (byScope: Record<string, number> = {}) => Object.values(byScope).reduce((sum, one) => sum + one, 0)

function keysOf(...all: Counts[]): [rule: string, scope: string][] {
  const keys = all.flatMap((counts) =>
    Object.entries(counts).flatMap(([rule, byScope]) => Object.keys(byScope).map((scope) => `${rule}\n${scope}`)),
  )
  return [...new Set(keys)].map((key) => {
    const [rule = '', scope = ''] = key.split('\n')
    return [rule, scope]
  })
}
