import { useState } from 'preact/hooks'
import { peopleTexts } from '#dashboard/texts/people.ts'
import { useDashboard } from '#dashboard/ui/dashboard-context.ts'
import { Dialog } from '#dashboard/ui/dialog.tsx'
import { Fault } from '#dashboard/ui/fault.tsx'
import { Question } from '#dashboard/ui/question.tsx'
import { refusalText } from '#dashboard/ui/refusal.ts'
import { useSending } from '#dashboard/ui/sending.ts'
import { useUnsaved } from '#dashboard/ui/unsaved.ts'
import type { InputOf } from '#shared/wire/operation-types.ts'
import type { UserJson } from '#shared/wire/users.ts'
import { KeyShown } from './key-shown.tsx'
import { draftOf, UserFields, useUserBody } from './user-fields.tsx'

interface PersonPanelProps {
  user: UserJson
  /** Called when it closes after a possible change. */
  onClose: () => void
}

type Step = 'change' | 'key' | 'disable' | 'remove'

/** Edits a user: properties, key, activation, deletion. */
export function PersonPanel({ user, onClose }: PersonPanelProps) {
  const { api, gate } = useDashboard()
  const texts = peopleTexts()
  const [step, go] = useState<Step>('change')
  const [draft, setDraft] = useState(() => draftOf(user))
  const [key, setKey] = useState<string | null>(null)
  const bodyOf = useUserBody()
  const { send, fault, isSending } = useSending()
  const path = { id: user.user_id }
  const patch = async (body: InputOf<'PATCH /users/{id}'>['body']) => {
    await api.call('PATCH /users/{id}', { path, body })
    onClose()
  }
  if (key !== null) return <IssuedKey name={user.name} apiKey={key} onDone={onClose} />
  const back = { onCancel: () => go('change'), refusal: refusalText }
  if (step === 'key')
    return (
      <Question
        {...back}
        title={texts.askNewKey(user.name)}
        action={texts.newKey}
        isDanger
        onAnswer={async () => setKey((await api.call('POST /users/{id}/rotate-key', { path })).api_key)}
      >
        <p>{texts.newKeyMeans}</p>
      </Question>
    )
  if (step === 'disable')
    return (
      <Question
        {...back}
        title={texts.askDisable(user.name)}
        action={texts.disable}
        isDanger
        onAnswer={() => patch({ is_active: false })}
      >
        <p>{texts.disableMeans}</p>
      </Question>
    )
  if (step === 'remove')
    return (
      <Question
        {...back}
        title={texts.askRemove(user.name)}
        action={texts.remove}
        isDanger
        onAnswer={async () => {
          await api.call('DELETE /users/{id}', { path })
          onClose()
        }}
      >
        <p>{texts.removeMeans}</p>
      </Question>
    )
  return (
    <Question
      title={texts.changeOf(user.name)}
      action={texts.save}
      isReady={draft.name.trim() !== ''}
      refusal={refusalText}
      onCancel={onClose}
      onAnswer={() => patch(bodyOf(draft))}
    >
      <UserFields draft={draft} onDraft={setDraft} />
      <div class="row">
        <button type="button" class="button" onClick={() => go('key')}>
          {texts.newKey}
        </button>
        {user.is_active ? (
          <button type="button" class="button" onClick={() => go('disable')}>
            {texts.disable}
          </button>
        ) : (
          <button
            type="button"
            class="button"
            disabled={isSending}
            onClick={() => void send(() => gate.act(() => patch({ is_active: true })))}
          >
            {texts.enable}
          </button>
        )}
        <button type="button" class="button" onClick={() => go('remove')}>
          {texts.remove}
        </button>
      </div>
      <Fault text={fault} />
    </Question>
  )
}

interface IssuedKeyProps {
  name: string
  apiKey: string
  onDone: () => void
}

/** Key that is shown only once: neither Escape nor a tap outside closes the dialog. */
export function IssuedKey({ name, apiKey, onDone }: IssuedKeyProps) {
  const texts = peopleTexts()
  useUnsaved(texts.leaveKey(name))
  return (
    <Dialog title={texts.keyOf(name)} onCancel={() => undefined}>
      <p>{texts.keyOnce}</p>
      <KeyShown apiKey={apiKey} of={name} />
      <button type="button" class="button main" onClick={onDone}>
        {texts.written}
      </button>
    </Dialog>
  )
}
