import { useState } from 'preact/hooks'
import type { CommandInput, CommandName } from '#dashboard/live/commands.ts'
import { isParked } from '#dashboard/live/fleet/marker-style.ts'
import { cartActionTexts } from '#dashboard/texts/cart-actions.ts'
import { commandTexts } from '#dashboard/texts/command.ts'
import { fleetTexts } from '#dashboard/texts/fleet.ts'
import { SelectField } from '#dashboard/ui/fields/select-field.tsx'
import { Question } from '#dashboard/ui/question.tsx'
import { ReadyTexts } from '#dashboard/ui/ready-texts.tsx'
import { TextField } from '#dashboard/ui/text-field.tsx'
import type { ApiError } from '#shared/client.ts'
import type { CartKind } from '#shared/site/settings.ts'
import type { CartJson, ServiceReason } from '#shared/wire/carts.ts'
import type { InputOf } from '#shared/wire/operation-types.ts'
import { MessageDialog } from '../message.tsx'
import { AskExempt, AskExemptOver } from './ask-exempt.tsx'

/** Question before an action on a cart. */
export type Asking =
  | 'lock'
  | 'unlock'
  | 'force'
  | 'message'
  | 'service'
  | 'back'
  | 'note'
  | 'exempt'
  | 'exempt-over'
  | 'kind'

const WHY_MAX = 200
const NOTE_MAX = 500
const NAME_MAX = 100

interface CartQuestionProps {
  cart: CartJson
  asking: Asking
  /** Rejection to override. */
  why: string | null
  send: (command: CommandName, more: Partial<CommandInput>) => void
  patch: (body: InputOf<'PATCH /carts/{cart}'>['body']) => Promise<void>
  onCancel: () => void
}

export function CartQuestion({ cart, asking, why, send, patch, onCancel }: CartQuestionProps) {
  const props = { cart, onCancel }
  switch (asking) {
    case 'lock':
    case 'force':
      return <AskLock {...props} why={asking === 'force' ? why : null} onAnswer={(more) => send('lock', more)} />
    case 'unlock':
      return <AskUnlock {...props} onAnswer={(more) => send('unlock', more)} />
    case 'message':
      return <MessageDialog carts={[cart.cart]} onClose={onCancel} />
    case 'service':
      return <AskService {...props} onAnswer={(out_of_service) => patch({ out_of_service })} />
    case 'back':
      return <AskBack {...props} onAnswer={() => patch({ out_of_service: null })} />
    case 'exempt':
      return <AskExempt {...props} onAnswer={(exempt) => patch({ exempt })} />
    case 'exempt-over':
      return <AskExemptOver {...props} onAnswer={() => patch({ exempt: null })} />
    case 'kind':
      return <AskKind {...props} onAnswer={(kind) => patch({ kind })} />
    case 'note':
      return <AskNote {...props} onAnswer={(note) => patch({ note })} />
  }
}

interface AskProps<Answer> {
  cart: CartJson
  onCancel: () => void
  onAnswer: (answer: Answer) => void | Promise<void>
}

/** `why` is the rejection to override. */
function AskLock({ cart, why, onCancel, onAnswer }: AskProps<Partial<CommandInput>> & { why: string | null }) {
  const texts = cartActionTexts()
  const isForced = why !== null
  const warning = why === null ? texts.onCourse : why === 'position_unknown' ? texts.forceUnknown : texts.forceMoving
  return (
    <Question
      title={isForced ? texts.askForce(cart.cart) : texts.askLock(cart.cart)}
      action={texts.lock}
      isDanger={isForced}
      onCancel={onCancel}
      onAnswer={() => onAnswer(isForced ? { force: true } : {})}
    >
      {(isForced || !isParked(cart)) && <p>{warning}</p>}
    </Question>
  )
}

function AskUnlock({ cart, onCancel, onAnswer }: AskProps<Partial<CommandInput>>) {
  const texts = cartActionTexts()
  const [driver, setDriver] = useState('')
  const [note, setNote] = useState('')
  const answer = () => {
    const metadata = {
      ...(driver.trim() === '' ? {} : { name: driver.trim() }),
      ...(note.trim() === '' ? {} : { note: note.trim() }),
    }
    return onAnswer(Object.keys(metadata).length === 0 ? {} : { metadata })
  }
  return (
    <Question title={texts.askUnlock(cart.cart)} action={texts.unlock} onCancel={onCancel} onAnswer={answer}>
      <TextField name={texts.driver} hint={texts.optional} max={NAME_MAX} value={driver} onInput={setDriver} />
      <TextField name={texts.note} hint={texts.optional} max={WHY_MAX} value={note} onInput={setNote} />
    </Question>
  )
}

/** The gateway has the word for a chosen reason, in the language of the course. */
function AskService({ cart, onCancel, onAnswer }: AskProps<{ reason: ServiceReason; why?: string }>) {
  const texts = cartActionTexts()
  const [why, setWhy] = useState('')
  // the keys of the record are reasons
  const chips = Object.entries(texts.reasons) as [ServiceReason, string][]
  return (
    <Question
      title={texts.askService(cart.cart)}
      action={texts.outOfService}
      refusal={errorText}
      isReady={why.trim() !== ''}
      onCancel={onCancel}
      onAnswer={() => onAnswer({ reason: 'other', why: why.trim() })}
    >
      <p>{texts.serviceMeans}</p>
      <ReadyTexts
        name={texts.tapReason}
        texts={chips.map(([, text]) => text)}
        onChosen={(text) => onAnswer({ reason: chips.find(([, one]) => one === text)?.[0] ?? 'other' })}
      />
      <TextField name={texts.otherReason} max={WHY_MAX} value={why} onInput={setWhy} />
    </Question>
  )
}

function AskBack({ cart, onCancel, onAnswer }: AskProps<null>) {
  const texts = cartActionTexts()
  return (
    <Question
      title={texts.askBack(cart.cart)}
      action={texts.backInService}
      refusal={errorText}
      onCancel={onCancel}
      onAnswer={() => onAnswer(null)}
    >
      <p dir="auto">{cart.out_of_service?.why}</p>
    </Question>
  )
}

function AskNote({ cart, onCancel, onAnswer }: AskProps<string>) {
  const texts = cartActionTexts()
  const [note, setNote] = useState(cart.note ?? '')
  return (
    <Question
      title={texts.noteOf(cart.cart)}
      action={texts.save}
      refusal={errorText}
      onCancel={onCancel}
      onAnswer={() => onAnswer(note.trim())}
    >
      <TextField name={texts.note} max={NOTE_MAX} isLong value={note} onInput={setNote} />
    </Question>
  )
}

function AskKind({ cart, onCancel, onAnswer }: AskProps<CartKind>) {
  const texts = cartActionTexts()
  const [kind, setKind] = useState(cart.kind)
  return (
    <Question
      title={texts.askKind(cart.cart)}
      action={texts.save}
      refusal={errorText}
      onCancel={onCancel}
      onAnswer={() => onAnswer(kind)}
    >
      <SelectField name={texts.kind} value={kind} options={fleetTexts().kinds} onChoose={setKind} />
    </Question>
  )
}

function errorText({ code, detail }: ApiError): string {
  return commandTexts().failures.get(code) ?? detail
}
