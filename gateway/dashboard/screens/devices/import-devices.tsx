import { useEffect, useState } from 'preact/hooks'
import type { Credential } from '#dashboard/live/credentials.ts'
import { toCsv } from '#dashboard/live/csv.ts'
import { columnText, deviceTexts, typeText } from '#dashboard/texts/devices.ts'
import { Button } from '#dashboard/ui/button.tsx'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { Fault } from '#dashboard/ui/fault.tsx'
import { Question } from '#dashboard/ui/question.tsx'
import { refusalText } from '#dashboard/ui/refusal.ts'
import { saveCsv } from '#dashboard/ui/save-file.ts'
import { useSending } from '#dashboard/ui/sending.ts'
import { VirtualList } from '#dashboard/ui/virtual-list.tsx'
import { ApiError } from '#shared/client.ts'
import type { LineError } from '#shared/errors.ts'
import type { AnswerOf } from '#shared/wire/operation-types.ts'
import { Credentials } from './credentials.tsx'
import { useRegister } from './use-devices.ts'

type Outcome = AnswerOf<'POST /devices/import'>

const ERROR_ROW_PX = 72
/** Devices of the sample file: the lock and the screen of one cart. */
const SAMPLE = [
  ['TB-001', 'teebox'],
  ['CC-001', 'cartcaddie'],
] as const

/** Import of a device list: the file is checked and its errors listed by line; saved only after a confirmation. */
export function ImportDevices() {
  const { api, gate, site } = useDashboard()
  const { devices, types } = useRegister()
  const kinds = useKinds(types)
  const texts = deviceTexts()
  const [file, setFile] = useState<Blob | null>(null)
  const [plan, setPlan] = useState<Outcome | null>(null)
  const [errors, setErrors] = useState<readonly LineError[]>([])
  const [done, setDone] = useState<Outcome | null>(null)
  // from all files: those of an earlier file may be neither printed nor saved yet
  const [issued, setIssued] = useState<readonly Credential[]>([])
  const [isAsked, ask] = useState(false)
  const { send, fault, setFault, isSending } = useSending()
  const importFile = (body: Blob, isDryRun: boolean) =>
    api.call('POST /devices/import', { body, query: { dry_run: isDryRun ? 'true' : 'false' } })
  // without its name in the field, a file with the same name can be chosen again after a correction
  const startOver = (input: HTMLInputElement) => {
    input.value = ''
    setFile(null)
    setPlan(null)
    setErrors([])
    setDone(null)
    setFault(null)
  }
  const preview = (chosen: File | undefined) => {
    if (chosen === undefined) return
    // browsers use a different type for CSV if a spreadsheet program is installed
    const csv = new Blob([chosen], { type: 'text/csv' })
    setFile(csv)
    void send(async () => {
      try {
        setPlan(await gate.act(() => importFile(csv, true)))
      } catch (error) {
        if (!(error instanceof ApiError) || error.lines.length === 0) throw error
        setErrors(error.lines)
      }
    })
  }
  const doIt = async () => {
    if (file === null) return
    const outcome = await importFile(file, false)
    ask(false)
    setPlan(null)
    setDone(outcome)
    setIssued([...issued, ...outcome.credentials.map(withoutName)])
    const known = new Map((await devices()).map((device) => [device.hardware_id, device]))
    const credentials = outcome.credentials.map((one) => {
      const { name = null, cart = null } = known.get(one.hardware_id) ?? {}
      return { ...withoutName(one), name, cart }
    })
    setIssued([...issued, ...credentials])
  }
  const saveSample = () => {
    const { hardwareId, type, name, cart, group } = texts
    const rows = SAMPLE.map(([id, kind]) => [id, kind, `${texts.typeNames[kind]} 1`, '1', ''])
    saveCsv('devices.csv', toCsv([[hardwareId, type, name, cart, group], ...rows], site.value.language))
  }
  const changes = plan === null ? 0 : plan.created + plan.updated
  return (
    <>
      <section class="panel">
        <h2>{texts.importTitle}</h2>
        <p>{texts.importWhat}</p>
        {kinds.length > 0 && <p>{texts.kinds(kinds.map(typeText).join(', '))}</p>}
        <Button text={texts.sample} onClick={saveSample} />
        <label class="field">
          {texts.choose}
          <input
            type="file"
            class="import-drop"
            accept=".csv,text/csv,text/plain"
            onClick={({ currentTarget }) => startOver(currentTarget)}
            onDrop={({ currentTarget }) => startOver(currentTarget)}
            onChange={({ currentTarget }) => preview(currentTarget.files?.[0])}
          />
        </label>
        <p class="small">{texts.drop}</p>
        {isSending && <p role="status">{texts.checking} …</p>}
        <Fault text={fault} />
        {errors.length > 0 && <Errors errors={errors} />}
        {plan !== null && (
          <>
            <p role="status">
              {changes === 0 ? texts.nothing : texts.would(plan.created, plan.updated, plan.unchanged)}
            </p>
            <Button text={texts.doIt} is="main" disabled={changes === 0} onClick={() => ask(true)} />
          </>
        )}
        {done !== null && <p role="status">{texts.did(done.created, done.updated, done.unchanged)}</p>}
      </section>
      {issued.length > 0 && <Credentials of={issued} />}
      {isAsked && (
        <Question
          title={texts.doItTitle(changes)}
          action={texts.doIt}
          onCancel={() => ask(false)}
          onAnswer={doIt}
          refusal={refusalText}
        >
          <p>{texts.doItWhy}</p>
        </Question>
      )}
    </>
  )
}

/** Returns the names of all device types; empty until they are known. */
function useKinds(types: ReturnType<typeof useRegister>['types']): readonly string[] {
  const [kinds, setKinds] = useState<readonly string[]>([])
  useEffect(() => {
    types().then(
      (known) => setKinds(known.map(({ name }) => name)),
      () => undefined,
    )
  }, [])
  return kinds
}

function Errors({ errors }: { errors: readonly LineError[] }) {
  const texts = deviceTexts()
  return (
    <>
      <p class="error" role="alert">
        {texts.wrong(errors.length)}
      </p>
      <div class="import-errors">
        <VirtualList
          items={errors}
          rowPx={ERROR_ROW_PX}
          label={texts.wrong(errors.length)}
          keyOf={({ line, code }) => `${line} ${code}`}
        >
          {(error) => (
            <div class="line words" dir="auto">
              {`${texts.line(error.line)}: ${faultText(error)}`}
            </div>
          )}
        </VirtualList>
      </div>
    </>
  )
}

/** Formats the error of a line; for a code without a text of the app, the gateway's own text. */
function faultText({ code, message, column, value }: LineError): string {
  const texts = deviceTexts()
  const found = column === undefined ? value : value && texts.quoted(value)
  const what = [...(column === undefined ? [] : [columnText(column)]), ...(found ? [found] : [])].join(' ')
  return texts.codes[code]?.(what) ?? message
}

function withoutName({ hardware_id, password }: Outcome['credentials'][number]): Credential {
  return { hardwareId: hardware_id, password, name: null, cart: null }
}
