import '#dashboard/ui/pages.css'
import { useState } from 'preact/hooks'
import { formatDay, formatDistance, formatNumber } from '#dashboard/texts/format.ts'
import { serviceTexts } from '#dashboard/texts/service/service.ts'
import { Button } from '#dashboard/ui/button.tsx'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { Dialog } from '#dashboard/ui/dialog.tsx'
import { Facts } from '#dashboard/ui/facts.tsx'
import { Fault } from '#dashboard/ui/fault.tsx'
import { NotKnown } from '#dashboard/ui/not-known.tsx'
import type { DueServiceJson } from '#shared/wire/service/service.ts'
import { useAnswer } from '../reports/use-answer.ts'
import { AddEntry } from './add-entry.tsx'
import { dueText } from './service-text.ts'

/** Newest entries that the card shows. */
const ENTRIES = 20

/** Button of a card that opens the service book of the cart. */
export function CartService({ cart }: { cart: string }) {
  const { me } = useDashboard()
  const [isOpen, open] = useState(false)
  const [addsFor, add] = useState<readonly DueServiceJson[] | null>(null)
  if (me.value?.role === 'user') return null
  const done = () => add(null)
  return (
    <>
      <Button text={serviceTexts().service} icon="wrench" onClick={() => open(true)} />
      {isOpen && addsFor === null && <CartBook cart={cart} onAdd={add} onClose={() => open(false)} />}
      {addsFor !== null && <AddEntry cart={cart} plans={addsFor} onCancel={done} onDone={done} />}
    </>
  )
}

interface CartBookProps {
  cart: string
  onAdd: (due: readonly DueServiceJson[]) => void
  onClose: () => void
}

/** Meter, plans and entries of a cart. */
function CartBook({ cart, onAdd, onClose }: CartBookProps) {
  const { api, site } = useDashboard()
  const texts = serviceTexts()
  const { time_zone, units } = site.value
  const { answer, fault } = useAnswer(cart, async (signal) => {
    const [meter, { due }, { entries }] = await Promise.all([
      api.call('GET /carts/{cart}/meter', { path: { cart }, signal }),
      api.call('GET /service-due', { signal }),
      api.call('GET /service-entries', { query: { cart, limit: ENTRIES }, signal }),
    ])
    return { meter, due: due.filter((one) => one.cart === cart), entries }
  })
  const due = answer?.due ?? []
  return (
    <Dialog title={texts.serviceOf(cart)} onCancel={onClose}>
      <Fault text={fault} />
      {answer === null && fault === null && <NotKnown />}
      {answer !== null && (
        <>
          <Facts
            of={[
              [
                texts.meter,
                texts.reading(
                  formatNumber(answer.meter.hours, 0),
                  formatDistance(answer.meter.km * 1000, units),
                  answer.meter.rounds,
                ),
              ],
              ...due.map((one) => [one.name, dueText(one, units)] as const),
              ...(due.length === 0 ? [[texts.dueFor, texts.noPlans] as const] : []),
            ]}
          />
          <h3>{texts.entries}</h3>
          {answer.entries.length === 0 && <p>{texts.noEntries}</p>}
          <ul>
            {answer.entries.map(({ entry_id, done_at, what, done_by, note }) => (
              <li key={entry_id} dir="auto">
                {[formatDay(Date.parse(done_at), time_zone), what, done_by, note].filter(Boolean).join(' · ')}
              </li>
            ))}
          </ul>
        </>
      )}
      <div class="dialog-buttons">
        <Button text={texts.close} onClick={onClose} />
        <Button text={texts.add} is="main" disabled={answer === null} onClick={() => onAdd(due)} />
      </div>
    </Dialog>
  )
}
