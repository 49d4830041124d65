import { useEffect, useState } from 'preact/hooks'
import { orderGiveOut } from '#dashboard/live/fleet/give-out.ts'
import { listOf, partyTexts } from '#dashboard/texts/parties/parties.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { SelectField } from '#dashboard/ui/fields/select-field.tsx'
import { Question } from '#dashboard/ui/question.tsx'
import { TextField } from '#dashboard/ui/text-field.tsx'
import type { PartyJson } from '#shared/wire/parties/parties.ts'
import { useToday } from '../day/use-today.ts'
import { partyRefusal, partyText } from './party-text.ts'

const CARTS_MAX = 200
const PLAYERS_MAX = 800

interface GiveOutProps {
  /** Cart whose card asks; null to propose carts. */
  cart: string | null
  /** Party of the sheet; null to choose one, or none. */
  party: PartyJson | null
  onCancel: () => void
  onDone: (text: string) => void
}

/** Hand-out of carts to a tee time of the sheet, or to players without one: unlocks them as well. */
export function GiveOut({ cart, party, onCancel, onDone }: GiveOutProps) {
  const { api, fleet, week, site } = useDashboard()
  const texts = partyTexts()
  const zone = site.value.time_zone
  const booked = useBooked(party === null)
  const [carts, setCarts] = useState(() => {
    const wanted = Math.max(1, Math.ceil((party?.players.length ?? 0) / 2))
    const proposed = orderGiveOut(fleet.carts.values(), week.usage.value).slice(0, wanted)
    return cart ?? proposed.map((one) => one.cart).join(', ')
  })
  const [players, setPlayers] = useState('')
  const [holes, setHoles] = useState<'9' | '18'>('18')
  const [chosenId, choose] = useState(party?.party_id ?? '')
  const chosen = party ?? booked.find(({ party_id }) => party_id === chosenId) ?? null
  const giveOut = async () => {
    const given = listOf(carts).map((one) => ({ cart: one }))
    if (chosen !== null)
      await api.call('POST /parties/{id}/carts', { path: { id: chosen.party_id }, body: { carts: given } })
    else {
      const body = { carts: given, players: listOf(players), holes: holes === '9' ? (9 as const) : (18 as const) }
      await api.call('POST /parties', { body })
    }
    onDone(texts.done(given.map((one) => one.cart).join(', ')))
  }
  return (
    <Question
      title={texts.askGive(chosen === null ? texts.walkIn : partyText(chosen, zone))}
      action={texts.giveOutAndUnlock}
      isReady={listOf(carts).length > 0}
      refusal={partyRefusal}
      onCancel={onCancel}
      onAnswer={giveOut}
    >
      <TextField name={texts.carts} hint={texts.cartsHint} max={CARTS_MAX} value={carts} onInput={setCarts} />
      {party === null && booked.length > 0 && (
        <SelectField
          name={texts.teeTime}
          value={chosenId}
          options={new Map([['', texts.walkIn], ...booked.map((one) => [one.party_id, partyText(one, zone)] as const)])}
          onChoose={choose}
        />
      )}
      {chosen === null && (
        <>
          <TextField
            name={texts.players}
            hint={texts.playersHint}
            max={PLAYERS_MAX}
            value={players}
            onInput={setPlayers}
          />
          <SelectField name={texts.holes} value={holes} options={{ '18': '18', '9': '9' }} onChoose={setHoles} />
        </>
      )}
    </Question>
  )
}

/** Returns the booked parties of today, without which carts can be given out as well. */
function useBooked(isWanted: boolean): readonly PartyJson[] {
  const { api } = useDashboard()
  const [booked, setBooked] = useState<readonly PartyJson[]>([])
  const today = useToday()
  useEffect(() => {
    if (!isWanted || today === null) return
    let isHere = true
    api.call('GET /parties', { query: { date: today, state: 'booked', limit: 1000 } }).then(
      ({ parties }) => isHere && setBooked(parties),
      () => undefined,
    )
    return () => {
      isHere = false
    }
  }, [isWanted, today])
  return booked
}
