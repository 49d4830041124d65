import { useEffect, useState } from 'preact/hooks'
import { isPin } from '#dashboard/live/pin-prompt.ts'
import { keepStep, readStep, type SetUpStep } from '#dashboard/live/set-up/set-up.ts'
import { signInTexts } from '#dashboard/texts/sign-in.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { TextField } from '#dashboard/ui/text-field.tsx'
import type { MeJson } from '#shared/wire/sessions.ts'
import { KeyShown } from '../more/key-shown.tsx'
import { CourseStep } from './course-step.tsx'
import { PlaceStep } from './place-step.tsx'
import { RestoreBackup } from './restore-backup.tsx'
import { StepForm } from './step-form.tsx'

interface SetUpProps {
  me: MeJson
  onDone: (me: MeJson) => void
  /** Called with the id of a restore that the gateway has begun. */
  onRestore: (id: string) => void
}

/** First start: a restore, or the course, a PIN, the position and a personal key, whose use ends the set-up. */
export function SetUp({ me, onDone, onRestore }: SetUpProps) {
  const [isRestoring, setRestoring] = useState(false)
  const [site, setSite] = useState<Pick<MeJson['site'], 'name' | 'time_zone' | 'units'>>(me.site)
  const [step, setStep] = useState(() => readStep(me))
  const [isReloaded] = useState(step === 'key')
  const go = (to: SetUpStep) => {
    keepStep(to)
    setStep(to)
  }
  const enter = (saved: typeof site) => {
    setSite(saved)
    go('pin')
  }
  if (isRestoring) return <RestoreBackup onStarted={onRestore} onBack={() => setRestoring(false)} />
  if (step === 'course') return <CourseStep site={site} onDone={enter} onRestore={() => setRestoring(true)} />
  if (step === 'pin') return <PinStep me={me} onDone={() => go('place')} onBack={() => go('course')} />
  if (step === 'place') return <PlaceStep onDone={() => go('key')} onBack={() => go('pin')} />
  return <KeyStep isAgain={isReloaded} onDone={onDone} />
}

/** Second step: the PIN with which the admin acts on any tablet. */
function PinStep({ me, onDone, onBack }: { me: MeJson; onDone: () => void; onBack: () => void }) {
  const { api } = useDashboard()
  const texts = signInTexts()
  const [pin, setPin] = useState('')
  const save = async () => {
    if (!isPin(pin)) return texts.pinLength
    await api.call('PUT /users/{id}/pin', { path: { id: me.user.user_id }, body: { pin } })
    onDone()
    return null
  }
  return (
    <StepForm step="pin" title={texts.pinTitle} action={texts.next} act={save} onBack={onBack}>
      <TextField name={texts.ownPin} hint={texts.ownPinWhy} max={6} isNumber value={pin} onInput={setPin} />
    </StepForm>
  )
}

/** Last step: the personal key, created again after a reload until the user has saved it. */
function KeyStep({ isAgain, onDone }: { isAgain: boolean; onDone: (me: MeJson) => void }) {
  const { api } = useDashboard()
  const texts = signInTexts()
  const [apiKey, setApiKey] = useState<string | null>(null)
  const make = async () => setApiKey((await api.call('POST /sessions/current/key')).api_key)
  // without a response the button repeats it
  useEffect(() => void make().catch(() => undefined), [])
  const act = async () => {
    if (apiKey === null) await make()
    else onDone(await api.call('POST /sessions', { body: { api_key: apiKey } }))
    return null
  }
  return (
    <StepForm step="key" title={texts.ownKey} action={apiKey === null ? texts.makeKey : texts.writtenDown} act={act}>
      <p>{texts.ownKeyHow}</p>
      {isAgain && apiKey !== null && <p>{texts.keyAgain}</p>}
      {apiKey !== null && <KeyShown apiKey={apiKey} of={texts.ownKey} />}
    </StepForm>
  )
}
