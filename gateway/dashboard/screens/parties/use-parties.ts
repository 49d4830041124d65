import { useEffect, useState } from 'preact/hooks'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { refusalText } from '#dashboard/ui/refusal.ts'
import type { PartyJson } from '#shared/wire/parties/parties.ts'

const LIMIT = 1000

/** Returns the parties of a local day as they change; null until they are known. */
export function useParties(date: string | null): { parties: readonly PartyJson[] | null; fault: string | null } {
  const dashboard = useDashboard()
  const [parties, setParties] = useState<ReadonlyMap<string, PartyJson> | null>(null)
  const [fault, setFault] = useState<string | null>(null)
  const isLive = dashboard.line.state.value.kind === 'live'
  useEffect(() => {
    if (date === null) return
    let isHere = true
    const stop = dashboard.listen((message) => {
      if (message.type !== 'party') return
      const { event, party } = message
      setParties((known) => {
        if (known === null) return null
        const others = [...known].filter(([partyId]) => partyId !== party.party_id)
        const isShown = event === 'changed' && party.date === date
        return new Map(isShown ? [...others, [party.party_id, party]] : others)
      })
    })
    setParties(null)
    dashboard.api.call('GET /parties', { query: { date, limit: LIMIT } }).then(
      (found) => isHere && setParties(new Map(found.parties.map((party) => [party.party_id, party]))),
      (error: unknown) => isHere && setFault(refusalText(error)),
    )
    return () => {
      isHere = false
      stop()
    }
  }, [date, isLive])
  return { parties: parties && [...parties.values()].sort(byState), fault }
}

const STATES: readonly PartyJson['state'][] = ['out', 'booked', 'over']

/** Overdue first, then those that are out, booked and over, each by tee time. */
function byState(a: PartyJson, b: PartyJson): number {
  const timeOf = ({ tee_time, created_at }: PartyJson) => tee_time ?? created_at
  return (
    Number(b.is_overdue) - Number(a.is_overdue) ||
    STATES.indexOf(a.state) - STATES.indexOf(b.state) ||
    timeOf(a).localeCompare(timeOf(b))
  )
}
