import '#dashboard/ui/pages.css'
import { useState } from 'preact/hooks'
import { toHash } from '#dashboard/live/route.ts'
import { serviceTexts } from '#dashboard/texts/service/service.ts'
import { Button } from '#dashboard/ui/button.tsx'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { Fault } from '#dashboard/ui/fault.tsx'
import { SelectField } from '#dashboard/ui/fields/select-field.tsx'
import { type Column, Table } from '#dashboard/ui/lists/table.tsx'
import { NotKnown } from '#dashboard/ui/not-known.tsx'
import { saveCsv } from '#dashboard/ui/save-file.ts'
import { useSending } from '#dashboard/ui/sending.ts'
import { useAddress } from '#dashboard/ui/use-address.ts'
import type { DueServiceJson } from '#shared/wire/service/service.ts'
import { useAnswer } from '../reports/use-answer.ts'
import { AddEntry } from './add-entry.tsx'
import { PlansDialog } from './plans-dialog.tsx'
import { dueText, lastDoneText } from './service-text.ts'

/** Services of all carts by urgency, and their plans: a page of More, which provides its title. */
export function ServicePage() {
  const { api, gate, me, site } = useDashboard()
  const texts = serviceTexts()
  const [state, setState] = useAddress('state')
  const { answer, fault, again } = useAnswer('due', (signal) => api.call('GET /service-due', { signal }))
  const saving = useSending()
  const [added, add] = useState<DueServiceJson | null>(null)
  const [isPlanning, plan] = useState(false)
  const [status, setStatus] = useState('')
  const { units, time_zone } = site.value
  const shown = answer?.due.filter((one) => state === '' || one.state === state)
  const save = async () => {
    const response = await gate.act(() => api.download('GET /service-due', { query: { format: 'csv' as const } }))
    saveCsv('service-due.csv', await response.text())
  }
  const columns: Column<DueServiceJson>[] = [
    {
      key: 'service',
      title: texts.columns.service,
      cell: (one) => (
        <span class="words" dir="auto">
          <a class="link" href={toHash('fleet', one.cart)}>{`${texts.cart} ${one.cart}: ${one.name}`}</a>
          <span class={one.state === 'due' ? 'bad' : 'small'}>{dueText(one, units)}</span>
        </span>
      ),
    },
    {
      key: 'done',
      title: texts.columns.done,
      is: 'wide',
      cell: ({ last_done_at }) => lastDoneText(last_done_at, time_zone),
    },
    {
      key: 'action',
      title: texts.columns.action,
      cell: (one) => (
        <Button text={texts.done} aria-label={`${texts.done}: ${one.cart}, ${one.name}`} onClick={() => add(one)} />
      ),
    },
  ]
  return (
    <>
      <div class="row">
        <SelectField
          name={texts.state}
          value={state}
          options={{ '': texts.all, ...texts.states }}
          onChoose={setState}
        />
        {me.value?.user.role === 'admin' && <Button text={texts.plans} onClick={() => plan(true)} />}
        <Button text={texts.csv} disabled={saving.isSending} onClick={() => void saving.send(save)} />
      </div>
      <p role="status">{status}</p>
      <Fault text={fault ?? saving.fault} />
      {shown === undefined && fault === null && <NotKnown />}
      {shown?.length === 0 && <p>{texts.none}</p>}
      {shown !== undefined && shown.length > 0 && (
        <Table
          label={texts.service}
          items={shown}
          columns={columns}
          rowPx={84}
          keyOf={({ cart, plan_id }) => `${plan_id} ${cart}`}
          nameOf={({ cart, name }) => `${texts.cart} ${cart}: ${name}`}
        />
      )}
      {isPlanning && <PlansDialog onChanged={again} onClose={() => plan(false)} />}
      {added !== null && (
        <AddEntry
          cart={added.cart}
          plans={[added]}
          onCancel={() => add(null)}
          onDone={() => {
            setStatus(texts.saved(added.cart))
            add(null)
            again()
          }}
        />
      )}
    </>
  )
}
