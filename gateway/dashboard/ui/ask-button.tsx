import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import type { ApiError } from '#shared/client.ts'
import { Button } from './button.tsx'
import { Question } from './question.tsx'
import { refusalText } from './refusal.ts'

interface AskButtonProps {
  action: string
  title: string
  /** Consequence, in a sentence. */
  means: string
  /** Name of the button for screen readers, where several have the same action. */
  label?: string
  isReady?: boolean
  refusal?: (error: ApiError) => string
  onAnswer: () => Promise<unknown>
  /** Fields below the consequence. */
  children?: ComponentChildren
}

/** Button whose action needs an answer first; the question stays open until it is done. */
export function AskButton(props: AskButtonProps) {
  const { action, title, means, label, isReady = true, refusal, onAnswer, children } = props
  const [isAsked, ask] = useState(false)
  return (
    <>
      <Button text={action} aria-label={label} onClick={() => ask(true)} />
      {isAsked && (
        <Question
          title={title}
          action={action}
          isDanger
          isReady={isReady}
          refusal={refusal ?? refusalText}
          onCancel={() => ask(false)}
          onAnswer={async () => {
            await onAnswer()
            ask(false)
          }}
        >
          <p>{means}</p>
          {children}
        </Question>
      )}
    </>
  )
}
