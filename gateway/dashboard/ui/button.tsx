import type { ButtonHTMLAttributes } from 'preact'
import { Icon, type IconName } from './icons.tsx'

interface ButtonProps extends Omit<ButtonHTMLAttributes<HTMLButtonElement>, 'class' | 'children' | 'is'> {
  /** Without a text its `aria-label` names it. */
  text?: string
  icon?: IconName
  /** Classes for its weight and width, such as `main wide`. */
  is?: string
}

/** Button with a text, a sign or both; by default it does not send its form. */
export function Button({ text, icon, is, ...attributes }: ButtonProps) {
  return (
    <button type="button" class={is === undefined ? 'button' : `button ${is}`} {...attributes}>
      {icon !== undefined && <Icon name={icon} />}
      {text}
    </button>
  )
}

interface ButtonLinkProps {
  text: string
  href: string
  /** As of a button. */
  is?: string
  /** True for a file to save. */
  download?: boolean
}

/** Link that looks like a button. */
export function ButtonLink({ text, is, ...attributes }: ButtonLinkProps) {
  return (
    <a class={is === undefined ? 'button' : `button ${is}`} {...attributes}>
      {text}
    </a>
  )
}
