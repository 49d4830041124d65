import { useState } from 'preact/hooks'
import { partyTexts } from '#dashboard/texts/parties/parties.ts'
import { questionTexts } from '#dashboard/texts/question.ts'
import { Button } from '#dashboard/ui/button.tsx'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { Dialog } from '#dashboard/ui/dialog.tsx'
import { Fault } from '#dashboard/ui/fault.tsx'
import { TickField } from '#dashboard/ui/fields/tick-field.tsx'
import { useSending } from '#dashboard/ui/sending.ts'
import { ApiError } from '#shared/client.ts'
import type { LineError } from '#shared/errors.ts'
import type { SheetResult } from '#shared/wire/parties/parties.ts'

const ERRORS_SHOWN = 20

interface ImportSheetProps {
  /** Local day of the times in the file. */
  date: string
  onCancel: () => void
  onDone: (text: string) => void
}

/** Import of a tee sheet: shows what the file would change, or its faults by line, before anything is saved. */
export function ImportSheet({ date, onCancel, onDone }: ImportSheetProps) {
  const { api, gate } = useDashboard()
  const texts = partyTexts()
  const [file, setFile] = useState<Blob | null>(null)
  const [replaces, setReplaces] = useState(false)
  const [plan, setPlan] = useState<SheetResult | null>(null)
  const [errors, setErrors] = useState<readonly LineError[]>([])
  const { send, fault, isSending } = useSending()
  const importFile = (body: Blob, isDryRun: boolean, isReplacing: boolean) => {
    const flag = (isOn: boolean) => (isOn ? 'true' : 'false')
    const query = { date, dry_run: flag(isDryRun), replace: flag(isReplacing) } as const
    return gate.act(() => api.call('POST /parties/import', { body, query }))
  }
  const preview = (csv: Blob | null, isReplacing: boolean) => {
    setFile(csv)
    setReplaces(isReplacing)
    setPlan(null)
    setErrors([])
    if (csv === null) return
    void send(async () => {
      try {
        setPlan(await importFile(csv, true, isReplacing))
      } catch (error) {
        if (!(error instanceof ApiError) || error.lines.length === 0) throw error
        setErrors(error.lines)
      }
    })
  }
  const doIt = () =>
    void send(async () => {
      if (file === null) return
      const { created, updated, deleted } = await importFile(file, false, replaces)
      onDone(texts.would(created, updated, deleted))
    })
  return (
    <Dialog title={texts.import} onCancel={onCancel}>
      <div class="stack">
        <p class="small">{texts.importWhat}</p>
        <label class="field">
          {texts.choose}
          <input
            type="file"
            accept=".csv,text/csv,text/plain"
            // a corrected file may have the same name
            onClick={({ currentTarget }) => (currentTarget.value = '')}
            onChange={({ currentTarget }) => {
              const [chosen] = currentTarget.files ?? []
              preview(chosen === undefined ? null : new Blob([chosen], { type: 'text/csv' }), replaces)
            }}
          />
        </label>
        <TickField
          name={texts.replace}
          isOn={replaces}
          isDisabled={isSending}
          onChange={(isOn) => preview(file, isOn)}
        />
        <Fault text={fault} />
        {errors.length > 0 && (
          <div role="alert">
            <p class="error">{texts.wrong(errors.length)}</p>
            <ul>
              {errors.slice(0, ERRORS_SHOWN).map(({ line, message }) => (
                <li key={line} dir="auto">
                  {texts.line(line, message)}
                </li>
              ))}
            </ul>
          </div>
        )}
        <p role="status">{plan !== null && texts.would(plan.created, plan.updated, plan.deleted)}</p>
        <div class="dialog-buttons">
          <Button text={questionTexts().cancel} onClick={onCancel} />
          <Button text={texts.doIt} is="main" disabled={plan === null || isSending} onClick={doIt} />
        </div>
      </div>
    </Dialog>
  )
}
