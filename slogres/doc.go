package slogres
