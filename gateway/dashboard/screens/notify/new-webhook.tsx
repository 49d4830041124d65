import { useState } from 'preact/hooks'
import { notifyTexts } from '#dashboard/texts/notify.ts'
import { Button } from '#dashboard/ui/button.tsx'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { Dialog } from '#dashboard/ui/dialog.tsx'
import { Question } from '#dashboard/ui/question.tsx'
import { TextField } from '#dashboard/ui/text-field.tsx'
import type { AlertKind } from '#shared/wire/alert-kinds.ts'
import { errorText } from './error-text.ts'
import { KindsField } from './kinds-field.tsx'

const URL_MAX = 2_000

/** Form for a program that receives alerts; its secret is shown once. */
export function NewWebhook({ onDone }: { onDone: () => void }) {
  const { api } = useDashboard()
  const texts = notifyTexts()
  const [url, setUrl] = useState('')
  const [kinds, setKinds] = useState<AlertKind[] | null>(null)
  const [secret, setSecret] = useState<string | null>(null)
  const save = async () => {
    const created = await api.call('POST /webhooks', { body: { url: url.trim(), kinds } })
    setSecret(created.secret)
  }
  if (secret !== null)
    return (
      // a tap outside must not lose the secret
      <Dialog key="secret" title={texts.secret} onCancel={() => undefined}>
        <p>{texts.secretOnce}</p>
        <code class="box address">{secret}</code>
        <Button text={texts.haveIt} is="main wide" onClick={onDone} />
      </Dialog>
    )
  return (
    <Question title={texts.addWebhook} action={texts.save} onCancel={onDone} onAnswer={save} refusal={errorText}>
      <TextField name={texts.url} hint={texts.urlHint} max={URL_MAX} value={url} onInput={setUrl} />
      <KindsField kinds={kinds} onKinds={setKinds} />
    </Question>
  )
}
