import type { ButtonHTMLAttributes } from 'preact'

interface ButtonProps extends Omit<ButtonHTMLAttributes<HTMLButtonElement>, 'class' | 'children' | 'is'> {
  text: string
  /** Classes for its weight and width, such as `main wide`. */
  is?: string
}

/** Button with a text; by default it does not send its form. */
export function Button({ text, is, ...attributes }: ButtonProps) {
  return (
    <button type="button" class={is === undefined ? 'button' : `button ${is}`} {...attributes}>
      {text}
    </button>
  )
}
