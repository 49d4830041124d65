import '#dashboard/ui/pages.css'
import './day/day.css'
import { useState } from 'preact/hooks'
import { partyTexts } from '#dashboard/texts/parties/parties.ts'
import { AskButton } from '#dashboard/ui/ask-button.tsx'
import { Button } from '#dashboard/ui/button.tsx'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { Fault } from '#dashboard/ui/fault.tsx'
import { type Column, Table } from '#dashboard/ui/lists/table.tsx'
import { NotKnown } from '#dashboard/ui/not-known.tsx'
import { useAddress } from '#dashboard/ui/use-address.ts'
import type { PartyJson } from '#shared/wire/parties/parties.ts'
import { DatePicker } from './day/date-picker.tsx'
import { useToday } from './day/use-today.ts'
import { GiveOut } from './parties/give-out.tsx'
import { ImportSheet } from './parties/import-sheet.tsx'
import { cartsOut, givenText, partyRefusal, partyText } from './parties/party-text.ts'
import { ReturnButton } from './parties/return-button.tsx'
import { useParties } from './parties/use-parties.ts'

const ROW_PX = 72

/** Tee sheet of a day with hand-out and return: a page of More, which provides its title. */
export function PartiesPage() {
  const { api, site } = useDashboard()
  const texts = partyTexts()
  const today = useToday()
  const [asked, setAsked] = useAddress('date')
  const date = asked === '' ? today : asked
  const { parties, fault } = useParties(date)
  const [given, give] = useState<PartyJson | 'walk-in' | null>(null)
  const [isImporting, importSheet] = useState(false)
  const [status, setStatus] = useState('')
  const zone = site.value.time_zone
  const done = (text: string) => {
    setStatus(text)
    give(null)
    importSheet(false)
  }
  const returnOf = (party: PartyJson) => ({ partyId: party.party_id, carts: cartsOut(party), onDone: setStatus })
  const columns: Column<PartyJson>[] = [
    {
      key: 'party',
      title: texts.columns.party,
      cell: (party) => (
        <span class="words" dir="auto">
          <strong>{partyText(party, zone)}</strong>
          <span class={party.is_overdue ? 'bad' : 'small'}>{stateText(party, zone)}</span>
        </span>
      ),
    },
    {
      key: 'carts',
      title: texts.columns.carts,
      is: 'wide',
      cell: ({ carts }) => <bdi>{carts.map(({ cart }) => cart).join(', ')}</bdi>,
    },
    {
      key: 'action',
      title: texts.columns.action,
      cell: (party) => (
        <>
          {party.state === 'booked' && (
            <Button
              text={texts.giveOut}
              is="main"
              aria-label={`${texts.giveOut}: ${partyText(party, zone)}`}
              onClick={() => give(party)}
            />
          )}
          {party.state === 'out' && <ReturnButton {...returnOf(party)} is="return" />}
        </>
      ),
    },
    {
      key: 'other',
      title: texts.columns.other,
      is: 'wide',
      cell: (party) => (
        <>
          {party.state === 'booked' && (
            <AskButton
              action={texts.delete}
              title={texts.askDelete(partyText(party, zone))}
              label={texts.askDelete(partyText(party, zone))}
              means={party.note ?? ''}
              refusal={partyRefusal}
              onAnswer={() => api.call('DELETE /parties/{id}', { path: { id: party.party_id } })}
            />
          )}
          {party.state === 'out' && <ReturnButton {...returnOf(party)} is="returnAndLock" />}
        </>
      ),
    },
  ]
  return (
    <>
      <div class="row">
        {date !== null && <DatePicker date={date} onDate={setAsked} />}
        <Button text={`${texts.giveOut}: ${texts.walkIn}`} onClick={() => give('walk-in')} />
        <Button text={texts.import} disabled={date === null} onClick={() => importSheet(true)} />
      </div>
      <p role="status">{status}</p>
      <Fault text={fault} />
      {parties === null && fault === null && <NotKnown />}
      {parties?.length === 0 && <p>{texts.none}</p>}
      {parties !== null && parties.length > 0 && (
        <Table
          label={texts.teeTime}
          items={parties}
          columns={columns}
          rowPx={ROW_PX}
          keyOf={({ party_id }) => party_id}
          nameOf={(party) => partyText(party, zone)}
        />
      )}
      {given !== null && (
        <GiveOut cart={null} party={given === 'walk-in' ? null : given} onCancel={() => give(null)} onDone={done} />
      )}
      {isImporting && date !== null && <ImportSheet date={date} onCancel={() => importSheet(false)} onDone={done} />}
    </>
  )
}

function stateText(party: PartyJson, timeZone: string): string {
  const texts = partyTexts()
  if (party.state !== 'out') return texts.states[party.state]
  return `${givenText(null, party.until, party.is_overdue, timeZone)} · ${cartsOut(party).join(', ')}`
}
